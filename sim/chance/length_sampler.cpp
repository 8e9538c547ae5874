#include "sim/chance/length_sampler.hpp"

#include <algorithm>
#include <functional>

namespace highwater {
namespace {

/// Fisher and Yates, as Durstenfeld wrote it (CACM 7, 1964, algorithm 235).
void shuffle(std::vector<std::int64_t>& values, RandomNumbers& numbers) {
  for (std::size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[numbers.below(i)]);
  }
}

}  // namespace

LengthSampler::LengthSampler(const LengthSource& source, const Batching& batching,
                             RandomNumbers numbers)
    : source_(&source), batching_(batching), numbers_(numbers) {}

std::int64_t LengthSampler::next_batch() {
  std::int64_t longest = 1;
  for (std::int64_t i = 0; i < batching_.batch; ++i) {
    longest = std::max(longest, next_sample());
  }
  return padded_length(longest, batching_.pad_to_multiple_of);
}

std::int64_t LengthSampler::next_sample() {
  const bool is_grouped = batching_.strategy == SamplingStrategy::group_by_length;
  if (source_->distribution && !is_grouped) {
    return source_->distribution->draw(numbers_);
  }
  if (batching_.strategy == SamplingStrategy::replacement) {
    return source_->list[numbers_.below(source_->list.size())];
  }
  if (next_ == epoch_.size()) {
    begin_epoch();
  }
  return epoch_[next_++];
}

void LengthSampler::begin_epoch() {
  next_ = 0;
  epoch_ = source_->list;
  if (source_->distribution) {
    epoch_.resize(static_cast<std::size_t>(batching_.samples));
    std::ranges::generate(epoch_, [&] { return source_->distribution->draw(numbers_); });
  } else if (batching_.strategy != SamplingStrategy::sequential) {
    shuffle(epoch_, numbers_);
  }
  if (batching_.strategy == SamplingStrategy::group_by_length) {
    group();
  }
}

/// get_length_grouped_indices: groups of up to 50 batches of a step, or a quarter of the epoch,
/// sorted from the longest on; the longest sample of all changes places with the first.
void LengthSampler::group() {
  const auto step = static_cast<std::size_t>(batching_.batch * batching_.accumulation);
  const std::size_t batches = std::clamp<std::size_t>(epoch_.size() / (4 * step), 1, 50);
  std::size_t longest = 0;
  for (std::size_t begin = 0; begin < epoch_.size(); begin += batches * step) {
    const std::size_t end = std::min(epoch_.size(), begin + batches * step);
    std::sort(epoch_.begin() + static_cast<std::ptrdiff_t>(begin),
              epoch_.begin() + static_cast<std::ptrdiff_t>(end), std::greater<>());
    longest = epoch_[begin] > epoch_[longest] ? begin : longest;
  }
  std::swap(epoch_.front(), epoch_[longest]);
}

}  // namespace highwater
