// The keys of a search for the largest batch.
#pragma once

#include <array>

#include "tools/json/members.hpp"
#include "tools/studies/runs/value_search.hpp"

namespace highwater {

template <>
struct Members<ValueTrial> {
  static constexpr auto kRows = std::to_array({
      member<&ValueTrial::value>("batch", "the batch that was simulated"),
      member<&ValueTrial::fits>("fits", "whether the run went to its end"),
      member<&ValueTrial::peak_reserved>(
          "peak_reserved_bytes",
          "the highest reserved, up to the failure of a run that does not fit"),
  });
};

template <>
struct Members<ValueSearch> {
  static constexpr auto kRows = std::to_array({
      member<&ValueSearch::best>("largest", "the largest batch that fits; null: none does"),
      member<&ValueSearch::next>("smallest_failing",
                                 "of those tried, the smallest that does not fit; null: all fit"),
      member<&ValueSearch::limit>("limit", "the largest batch that would be tried"),
      member<&ValueSearch::trials>("trials", "in the order in which they were made"),
  });
};

}  // namespace highwater
