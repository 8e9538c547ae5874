// The shortest way from one sequence to another by removals and insertions.
//
// E. Myers, "An O(ND) difference algorithm and its variations", Algorithmica 1986. The search is
// abandoned after a number of edits and restarted where it got furthest, so that cost and memory
// stay bounded for sequences that have little in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace highwater {

enum class AlignmentStep : std::uint8_t { both, only_first, only_second };

/// The steps that walk through both sequences from begin to end.
std::vector<AlignmentStep> align(std::span<const std::uint64_t> first,
                                 std::span<const std::uint64_t> second, std::size_t max_edits);

}  // namespace highwater
