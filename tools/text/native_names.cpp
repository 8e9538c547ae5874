#include "tools/text/native_names.hpp"

namespace highwater {
namespace {

/// The part of `text` between `before` and `after`, if it has both.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t begin = text.find(before);
  if (begin == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = text.substr(begin + before.size());
  const std::size_t end = rest.find(after);
  return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
}

}  // namespace

std::string_view operator_of(std::string_view function) {
  const std::string_view name = between(function, "at::_ops::", "::");
  return function.find("::call(") == std::string_view::npos &&
                 function.find("::redispatch(") == std::string_view::npos
             ? std::string_view{}
             : name;
}

std::string_view autograd_node_of(std::string_view function) {
  const std::string_view generated = between(function, "torch::autograd::generated::", "::apply(");
  return generated.empty() ? between(function, "torch::autograd::", "::apply(") : generated;
}

}  // namespace highwater
