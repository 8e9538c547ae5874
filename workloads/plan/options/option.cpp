#include "workloads/plan/options/option.hpp"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "traces/overloaded.hpp"

namespace highwater {

std::string_view to_string(OptionGroup group) {
  constexpr std::array<std::string_view, 6> kHeadings{
      "Model and batches", "Training",
      "Data parallel",     "Tensor, pipeline, context and expert parallel",
      "Memory and device", "This command"};
  return kHeadings[static_cast<std::size_t>(group)];
}

std::string option_text(const OptionValue& value) {
  return std::visit(Overloaded{[](std::nullptr_t) { return std::string("none"); },
                               [](bool yes) { return std::string(yes ? "true" : "false"); },
                               [](const std::string& text) { return text; },
                               [](const std::vector<std::int64_t>& list) {
                                 return fmt::format("{}", fmt::join(list, ","));
                               },
                               [](const auto& number) { return fmt::format("{}", number); }},
                    value);
}

}  // namespace highwater
