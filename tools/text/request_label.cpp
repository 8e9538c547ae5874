#include "tools/text/request_label.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "tools/text/native_names.hpp"

namespace highwater {
namespace {

bool is_python(std::string_view file) {
  return file.ends_with(".py");
}

std::string line_of(std::string_view file, const Frame& frame, std::string_view function) {
  return fmt::format("{}:{} {}", file.substr(file.rfind('/') + 1), frame.line, function);
}

/// What the frames of one stack tell, collected from the inside out.
class Description {
 public:
  void add(const SideTables& tables, const Frame& frame) {
    const std::string_view file = tables.strings[frame.file];
    const std::string_view function = tables.strings[frame.function];
    if (file == "operator" || file == "autograd" || file == "module") {
      words_.emplace_back(function);
    } else if (is_python(file)) {
      add_python(file, frame, function);
    } else {
      add_native(function);
    }
  }

  [[nodiscard]] std::string text() const {
    std::string result = fmt::format("{}", fmt::join(words_, " "));
    const auto append = [&](std::string_view part, std::string_view separator) {
      result.append(result.empty() || part.empty() ? "" : separator).append(part);
    };
    append(fmt::format("{}", fmt::join(operators_, " < ")), " ");
    append(node_, " ");
    append(innermost_, " ");
    append(outside_ == innermost_ ? "" : outside_, " @ ");
    return result;
  }

 private:
  void add_python(std::string_view file, const Frame& frame, std::string_view function) {
    const std::string line = line_of(file, frame, function);
    if (innermost_.empty() && file.find("/nn/modules/module.py") == std::string_view::npos) {
      innermost_ = line;
    }
    if (outside_.empty() && file.find("/torch/") == std::string_view::npos) {
      outside_ = line;
    }
  }

  /// Operators and nodes outside the first line of Python are further up the call.
  void add_native(std::string_view function) {
    const std::string_view name = operator_of(function);
    const bool is_new = operators_.empty() || operators_.back() != name;
    if (!name.empty() && is_new && innermost_.empty() && operators_.size() < 3) {
      operators_.emplace_back(name);
    }
    if (node_.empty()) {
      node_ = autograd_node_of(function);
    }
  }

  std::vector<std::string> words_;
  std::vector<std::string> operators_;
  std::string node_;
  std::string innermost_;
  std::string outside_;
};

}  // namespace

std::string request_label(const SideTables& tables, StackId stack) {
  if (!stack.has_value()) {
    return "";
  }
  Description description;
  for (const FrameId id : tables.stacks.stack(stack)) {
    description.add(tables, tables.stacks.frame(id));
  }
  return description.text();
}

}  // namespace highwater
