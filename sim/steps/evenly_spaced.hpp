// Requests that come back at even distances, though what lies between them varies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace highwater {

/// The positions of the symbol that marks the period best; empty when none does. A symbol is
/// evenly spaced when it comes at least four times, over at least half of the sequence, and four
/// fifths of its distances are within 5 % of their median. Periods that a tenth as many symbols
/// share as the commonest one, and one in fifty of all frequent symbols, count, and the longest of
/// those is taken: the parts of a step (micro-batches) come back as evenly as the step. Of its
/// symbols the most even one with the most marks is taken, without marks at the begin and at the
/// end that are not a period from the next.
std::vector<std::size_t> evenly_spaced(std::span<const std::uint32_t> symbols);

}  // namespace highwater
