// What the readers of a recorded case's fields share: words, booleans, and how to give up.
//
// A reader throws Unsupported for what the recorder can express and a plan cannot; the case then
// carries the reason instead of a plan. The words are those of the recorder's vocabulary.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "workloads/json/json_field.hpp"
#include "workloads/plan/parallelism.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::recorded {

using Field = RecordedField;

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

inline constexpr std::array<std::pair<std::string_view, Precision>, 5> kPrecisions{{
    {"fp32", Precision::fp32},
    {"bf16", Precision::bf16},
    {"fp16", Precision::fp16},
    {"amp-bf16", Precision::amp_bf16},
    {"amp-fp16", Precision::amp_fp16},
}};

/// @throws Unsupported when an object has another field
void require_known(const Field& field, std::span<const std::string_view> known);

/// A boolean field; false if it is absent.
bool flag(const Field& fields, std::string_view key);

}  // namespace highwater::recorded
