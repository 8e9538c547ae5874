#include "tools/studies/validation/reference_recompute.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "traces/error.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

const json::value& input(const json::object& reference_case, std::string_view key) {
  const json::value* const found = reference_case.at("inputs").as_object().if_contains(key);
  if (found == nullptr) {
    throw InputError("", fmt::format("inputs.{}", key), "missing", "");
  }
  return *found;
}

[[noreturn]] void fail(std::string_view key, std::string_view wanted) {
  throw InputError("", fmt::format("inputs.{}", key), fmt::format("expected {}", wanted), "");
}

/// The first entry whose prefix begins the case's id, or nullptr.
template <class Entry>
const Entry* find_entry(std::span<const Entry> entries, const json::object& reference_case) {
  const auto found = std::ranges::find_if(entries, [&](const Entry& entry) {
    return reference_id(reference_case).starts_with(entry.prefix);
  });
  return found == entries.end() ? nullptr : &*found;
}

}  // namespace

json::object recompute_by_id(std::span<const RecomputeEntry> entries,
                             const json::object& reference_case, const json::array& all_cases) {
  const RecomputeEntry* const entry = find_entry(entries, reference_case);
  return entry == nullptr ? json::object() : entry->recompute(reference_case, all_cases);
}

json::object recompute_by_id(std::span<const RecomputeAloneEntry> entries,
                             const json::object& reference_case) {
  const RecomputeAloneEntry* const entry = find_entry(entries, reference_case);
  return entry == nullptr ? json::object() : entry->recompute(reference_case);
}

std::string_view reference_id(const json::object& reference_case) {
  return reference_case.at("id").as_string();
}

double input_number(const json::object& reference_case, std::string_view key) {
  const json::value& value = input(reference_case, key);
  if (!value.is_number()) {
    fail(key, "a number");
  }
  return value.to_number<double>();
}

int input_count(const json::object& reference_case, std::string_view key) {
  constexpr int kMost = 1'000'000;
  const double number = input_number(reference_case, key);
  if (!(number >= 1 && number <= kMost) || std::trunc(number) != number) {
    fail(key, "a whole number from 1 to 1000000");
  }
  return static_cast<int>(number);
}

std::string_view input_text(const json::object& reference_case, std::string_view key) {
  const json::value& value = input(reference_case, key);
  if (!value.is_string()) {
    fail(key, "a string");
  }
  return value.get_string();
}

const json::object& input_object(const json::object& reference_case, std::string_view key) {
  const json::value& value = input(reference_case, key);
  if (!value.is_object()) {
    fail(key, "an object");
  }
  return value.get_object();
}

bool input_flag(const json::object& reference_case, std::string_view key) {
  const json::value& value = input(reference_case, key);
  if (!value.is_bool()) {
    fail(key, "true or false");
  }
  return value.get_bool();
}

}  // namespace highwater
