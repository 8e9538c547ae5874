#include "workloads/sources/rules/plain_key.hpp"

#include <cstddef>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "workloads/sources/settings/setting.hpp"

namespace highwater {
namespace {

/// "optim.value" and "accelerator_config.value.split_batches", wrapped in "value", are "optim" and
/// "accelerator_config.split_batches".
std::string without_wrapper(std::string_view key, std::string_view wrapper) {
  const std::size_t dot = key.find('.');
  if (wrapper.empty() || dot == std::string_view::npos) {
    return std::string(key);
  }
  const std::string_view rest = key.substr(dot + 1);
  if (rest == wrapper) {
    return std::string(key.substr(0, dot));
  }
  const bool is_inside = rest.starts_with(wrapper) && rest.substr(wrapper.size()).starts_with('.');
  return is_inside ? fmt::format("{}{}", key.substr(0, dot), rest.substr(wrapper.size()))
                   : std::string(key);
}

std::string_view without_section(const Program& program, std::string_view key) {
  for (const std::string_view section : program.sections) {
    if (key.starts_with(section)) {
      return key.substr(section.size());
    }
  }
  return key;
}

std::optional<std::string> renamed(const RenamedKey& row, std::string_view key) {
  if (!row.own.ends_with('*')) {
    return is_same_key(row.own, key) ? std::optional(std::string(row.common)) : std::nullopt;
  }
  const std::string_view head = row.own.substr(0, row.own.size() - 1);
  if (!is_same_key(head, key.substr(0, head.size()))) {
    return std::nullopt;
  }
  return fmt::format("{}{}", row.common.substr(0, row.common.size() - 1), key.substr(head.size()));
}

}  // namespace

std::string plain_key(const Program& program, std::string_view key) {
  const std::string bare = without_wrapper(key, program.wrapper);
  for (const RenamedKey& row : program.renamed) {
    if (std::optional<std::string> name = renamed(row, bare)) {
      return *std::move(name);
    }
  }
  return std::string(without_section(program, bare));
}

}  // namespace highwater
