#include "tools/text/site_label.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "tools/text/site.hpp"

namespace highwater {
namespace {

bool is_user_code(std::string_view file) {
  const bool python = file.ends_with(".py") || file.starts_with("<ipython");
  return python && file.find("/torch/") == std::string_view::npos;
}

/// Frames of the unwinder and of the allocation itself, which every C++ stack begins with. Looked
/// for anywhere before the parameters: functions from templates have their return type in front.
bool is_machinery(std::string_view function) {
  constexpr std::array<std::string_view, 8> kParts{
      "torch::unwind", "torch::CapturedTraceback", "torch::cuda::", "c10::",
      "at::detail::",  "at::native::empty",        "empty_generic", "empty_cuda"};
  const std::string_view name = function.substr(0, function.find('('));
  return std::ranges::any_of(
      kParts, [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

std::string_view without_leading_blanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

std::string label(const SideTables& tables, const Frame& frame) {
  const std::string_view path = tables.strings[frame.file];
  const std::size_t slash = path.rfind('/');
  const std::string_view file = slash == std::string_view::npos ? path : path.substr(slash + 1);
  const std::string_view function = without_leading_blanks(tables.strings[frame.function]);
  if (file == "??" || file.empty()) {
    return std::string(function);  // C++ without debug information
  }
  return frame.line > 0 ? fmt::format("{}:{} {}", file, frame.line, function)
                        : fmt::format("{} {}", file, function);
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

}  // namespace

std::string site_label(const SideTables& tables, StackId stack) {
  if (!stack.has_value() || tables.stacks.stack(stack).empty()) {
    return std::string(kNoSite);
  }
  const auto frames = tables.stacks.stack(stack);
  if (is_generated(tables, tables.stacks.frame(frames.front()))) {
    return generated_label(tables, stack);
  }
  const auto first = [&](auto wanted) {
    return std::ranges::find_if(frames,
                                [&](FrameId id) { return wanted(tables.stacks.frame(id)); });
  };
  auto chosen = first([&](const Frame& frame) { return is_user_code(tables.strings[frame.file]); });
  if (chosen == frames.end()) {
    chosen =
        first([&](const Frame& frame) { return !is_machinery(tables.strings[frame.function]); });
  }
  return label(tables, tables.stacks.frame(chosen == frames.end() ? frames.front() : *chosen));
}

std::string without_line(std::string_view label) {
  for (std::size_t at = label.find(':'); at != std::string_view::npos;
       at = label.find(':', at + 1)) {
    const std::size_t end = label.find_first_not_of("0123456789", at + 1);
    if (end != at + 1 && end != std::string_view::npos && label[end] == ' ') {
      return std::string(label.substr(0, at)).append(label.substr(end));
    }
  }
  return "";
}

}  // namespace highwater
