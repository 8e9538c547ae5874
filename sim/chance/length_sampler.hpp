// The lengths of a run's batches, as a data loader makes them: samples in the sampler's order, each
// batch padded to its longest sample, and that to a multiple.
//
// Samplers are torch.utils.data's and transformers' (Trainer's train_sampling_strategy;
// trainer_pt_utils.py get_length_grouped_indices, 5.23). Batches go on over the end of an epoch;
// a loader that keeps a last, smaller batch has one more of those in each epoch.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/chance/distribution.hpp"

namespace highwater {

enum class SamplingStrategy : std::uint8_t {
  random,           ///< RandomSampler: each epoch all samples, in a new order
  replacement,      ///< RandomSampler(replacement=True): any sample each time
  sequential,       ///< SequentialSampler: in the order of the list
  group_by_length,  ///< LengthGroupedSampler: samples of nearly the same length together
};

/// Where lengths come from: one of the two.
struct LengthSource {
  std::optional<Distribution> distribution;
  std::vector<std::int64_t> list;
};

/// How samples become batches.
struct Batching {
  SamplingStrategy strategy = SamplingStrategy::random;
  std::int64_t batch = 1;  ///< samples of a micro-batch
  std::int64_t accumulation = 1;
  std::int64_t pad_to_multiple_of = 1;
  std::int64_t samples = 0;  ///< of a run: an epoch of what is drawn and grouped
};

class LengthSampler {
 public:
  /// `source` must outlive it.
  LengthSampler(const LengthSource& source, const Batching& batching, RandomNumbers numbers);

  /// Tokens per sequence of the next micro-batch.
  std::int64_t next_batch();

 private:
  std::int64_t next_sample();
  void begin_epoch();
  void group();

  const LengthSource* source_;
  Batching batching_;
  RandomNumbers numbers_;
  std::vector<std::int64_t> epoch_;  ///< the lengths of its samples, in order
  std::size_t next_ = 0;
};

/// `length` padded to a multiple.
constexpr std::int64_t padded_length(std::int64_t length, std::int64_t multiple) {
  return (length + multiple - 1) / multiple * multiple;
}

}  // namespace highwater
