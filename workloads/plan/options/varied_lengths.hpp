// Lengths of batches that are padded to their longest example, where only the greatest is known.
#pragma once

#include <cstdint>
#include <vector>

namespace highwater {

/// What the longest of `batch` examples has of the greatest length, in thousandths: 16 batches in
/// the order in which they come. Lengths are lognormal, of a spread as texts have it, and one in
/// twenty reaches the greatest, at which it is cut: the limit that scripts are advised to choose.
std::vector<std::int64_t> varied_shares(std::int64_t batch);

/// Tokens of batches that have these thousandths of `longest`.
std::vector<std::int64_t> varied_lengths(std::int64_t longest, std::vector<std::int64_t> shares);

}  // namespace highwater
