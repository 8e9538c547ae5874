// What the readers of a recorded case's fields share: how a field sets an option of the plan, and
// how they give up.
//
// The recorder's words are those of the options (workloads/plan/options); where a field has another
// name or other words, its row says so. A reader throws Unsupported for what the recorder can
// express and a plan cannot; the case then says so instead of having a plan.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "workloads/json/json_field.hpp"

namespace highwater {
struct TrainingPlan;
}

namespace highwater::recorded {

using Field = JsonField;

/// Why a case has no plan; caught where the case is read.
struct Unsupported {
  std::string reason;
};

/// The value of a word in the recorder's vocabulary.
template <class T, std::size_t N>
T word(const Field& field, const std::array<std::pair<std::string_view, T>, N>& words) {
  const std::string text = field.text();
  const auto found = std::ranges::find(words, text, &std::pair<std::string_view, T>::first);
  if (found == words.end()) {
    throw Unsupported{fmt::format("{} '{}' is not supported", field.path(), text)};
  }
  return found->second;
}

/// A field and the option that it sets; none: it is read elsewhere, or changes no memory.
struct FieldOption {
  std::string_view field;
  std::string_view option = {};
  std::string (*word_of)(const Field& field) = nullptr;  ///< where the recorder has its own words
};

/// Sets `option` of the plan to what the field says.
/// @throws Unsupported for a value that the option lacks, InputError for one of another type
void set_option(TrainingPlan& plan, std::string_view option, const Field& field);

/// The same in the option's own words. `field` is what a refusal names.
void set_option(TrainingPlan& plan, std::string_view option, const Field& field,
                const std::string& text);

/// Every row whose field is there and not null. @throws Unsupported
void set_options(TrainingPlan& plan, std::span<const FieldOption> rows, const Field& fields);

/// @throws Unsupported when an object has a field without a row
void require_known(const Field& field, std::span<const FieldOption> known);

/// A boolean field; false if it is absent.
bool flag(const Field& fields, std::string_view key);

}  // namespace highwater::recorded
