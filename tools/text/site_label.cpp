#include "tools/text/site_label.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "tools/text/frame_code.hpp"
#include "tools/text/native_names.hpp"
#include "tools/text/site.hpp"

namespace highwater {
namespace {

/// The name of a C++ function, with the return type that functions from templates have in front.
std::string_view without_parameters(std::string_view function) {
  constexpr std::string_view kUnnamed = "(anonymous namespace)";
  std::size_t end = function.find('(');
  while (end != std::string_view::npos && function.substr(end).starts_with(kUnnamed)) {
    end = function.find('(', end + kUnnamed.size());
  }
  return function.substr(0, end);
}

/// Frames of the unwinder, of the allocation itself and of the dispatcher, which every C++ stack
/// begins with.
bool is_machinery(std::string_view function) {
  constexpr std::array<std::string_view, 13> kParts{
      "torch::unwind",
      "torch::CapturedTraceback",
      "torch::cuda::",
      "c10::",
      "at::detail::",
      "at::native::empty",
      "empty_generic",
      "empty_cuda",
      "at::empty",
      "at::_ops::",
      "at::(anonymous namespace",
      "at::TensorIteratorBase",
      "VariableType::",
  };
  const std::string_view name = without_parameters(function);
  return std::ranges::any_of(
      kParts, [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

/// Operators that only allocate are how others do it.
std::string_view allocating_operator(std::string_view function) {
  const std::string_view name = operator_of(function);
  return name.starts_with("empty") || name.starts_with("new_empty") ? "" : name;
}

std::string_view without_leading_blanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

std::string frame_label(const SideTables& tables, const Frame& frame) {
  const std::string_view path = tables.strings[frame.file];
  const std::size_t slash = path.find_last_of("/\\");
  const std::string_view file = slash == std::string_view::npos ? path : path.substr(slash + 1);
  const std::string_view function = without_leading_blanks(tables.strings[frame.function]);
  if (file == "??" || file.empty()) {
    return std::string(function);  // C++ without debug information
  }
  return frame.line > 0 ? fmt::format("{}:{} {}", file, frame.line, function)
                        : fmt::format("{} {}", file, function);
}

/// Who called, with what of a library it called.
std::string with_library(const std::string& caller, const std::string& called) {
  return called.empty() || called == caller ? caller : fmt::format("{} ({})", caller, called);
}

/// Frames of a generated trace say what they are instead of naming a file (workloads/generate.hpp).
bool is_generated(const SideTables& tables, const Frame& frame) {
  const std::string_view kind = tables.strings[frame.file];
  return kind == "operator" || kind == "autograd" || kind == "module";
}

std::string generated_label(const SideTables& tables, StackId stack) {
  const Site site = site_of(tables, stack);
  std::string text;
  for (const std::string& part : {site.op, site.autograd, without_indices(site.module)}) {
    text.append(text.empty() || part.empty() ? "" : " ").append(part);
  }
  return text;
}

using Frames = std::span<const FrameId>;

/// The innermost of `frames` that is `wanted`; empty if none is.
template <class Wanted>
Frames from_first(Frames frames, Wanted wanted) {
  return frames.subspan(
      static_cast<std::size_t>(std::ranges::find_if(frames, wanted) - frames.begin()));
}

/// A stack that a real program left.
class ProgramStack {
 public:
  ProgramStack(const SideTables& tables, Frames frames) : tables_(&tables), frames_(frames) {}

  [[nodiscard]] std::string label() const {
    for (const std::string& text :
         {of_user(), innermost(frames_, FrameCode::library), of_operators(), of_anything()}) {
      if (!text.empty()) {
        return text;
      }
    }
    return text_of(frames_.front());
  }

 private:
  [[nodiscard]] const Frame& frame(FrameId id) const { return tables_->stacks.frame(id); }

  [[nodiscard]] std::string text_of(FrameId id) const { return frame_label(*tables_, frame(id)); }

  [[nodiscard]] std::string_view function(FrameId id) const {
    return tables_->strings[frame(id).function];
  }

  [[nodiscard]] auto is_of(FrameCode code) const {
    return [this, code](FrameId id) { return code_of(tables_->strings[frame(id).file]) == code; };
  }

  [[nodiscard]] std::string innermost(Frames frames, FrameCode code) const {
    const Frames found = from_first(frames, is_of(code));
    return found.empty() ? "" : text_of(found.front());
  }

  /// The user's innermost line, and the library's below it: PyTorch's own only if that is all there
  /// is, since every module goes through it.
  [[nodiscard]] std::string of_user() const {
    const Frames user = from_first(frames_, is_of(FrameCode::user));
    if (user.empty()) {
      return "";
    }
    const Frames below = frames_.first(frames_.size() - user.size());
    const std::string library = innermost(below, FrameCode::library);
    return with_library(text_of(user.front()),
                        library.empty() ? innermost(below, FrameCode::torch) : library);
  }

  /// Without any Python (the autograd thread): the backward node, or the operator that was called,
  /// and the operator that allocated.
  [[nodiscard]] std::string of_operators() const {
    std::string_view allocating;
    std::string_view caller;
    for (const FrameId id : frames_) {
      if (const auto node = autograd_node_of(function(id)); !node.empty()) {
        caller = node;
        break;
      }
      const std::string_view op = allocating_operator(function(id));
      caller = op.empty() ? caller : op;
      allocating = allocating.empty() ? op : allocating;
    }
    return with_library(std::string(caller), std::string(allocating));
  }

  [[nodiscard]] std::string of_anything() const {
    const Frames found =
        from_first(frames_, [this](FrameId id) { return !is_machinery(function(id)); });
    return found.empty() ? "" : text_of(found.front());
  }

  const SideTables* tables_;
  Frames frames_;
};

/// Where a line number begins (":42 "), from `from` on; npos if there is none.
std::size_t find_line(std::string_view label, std::size_t from) {
  for (std::size_t at = label.find(':', from); at != std::string_view::npos;
       at = label.find(':', at + 1)) {
    const std::size_t end = label.find_first_not_of("0123456789", at + 1);
    if (end != at + 1 && end != std::string_view::npos && label[end] == ' ') {
      return at;
    }
  }
  return std::string_view::npos;
}

}  // namespace

std::string site_label(const SideTables& tables, StackId stack) {
  if (!stack.has_value() || tables.stacks.stack(stack).empty()) {
    return std::string(kNoSite);
  }
  const Frames frames = tables.stacks.stack(stack);
  return is_generated(tables, tables.stacks.frame(frames.front()))
             ? generated_label(tables, stack)
             : ProgramStack(tables, frames).label();
}

std::string without_line(std::string_view label) {
  std::string text;
  std::size_t from = 0;
  for (std::size_t at = find_line(label, 0); at != std::string_view::npos;
       at = find_line(label, from)) {
    text += label.substr(from, at - from);
    from = label.find(' ', at);
  }
  return text.empty() ? "" : text.append(label.substr(from));
}

}  // namespace highwater
