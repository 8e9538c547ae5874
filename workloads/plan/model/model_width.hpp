// A model made wider or narrower: more or fewer heads of the size that it has.
//
// The rule: the size of a head stays; query heads, key-value heads, the hidden size, the width of
// the embedding and the feed-forward size keep their ratios. So the hidden size goes in steps of
// one part, where the model is cut into as many equal parts as its hidden size and both numbers of
// heads allow (a single key-value head stays single). The feed-forward size is rounded to the
// nearest multiple of the largest power of two, at most 256, that divides the model's own: Meta's
// LLaMA rounds to `multiple_of=256` as well (llama/model.py, FeedForward). Layers, vocabulary,
// experts and all other sizes stay.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "workloads/plan/model/model_spec.hpp"

namespace highwater {

/// The hidden sizes that the model can have are the multiples of this, where each of `ranks`
/// tensor-parallel ranks gets as many heads. Absent where the sizes of the model are not known.
std::optional<std::int64_t> width_step(const ModelSpec& model, int ranks = 1);

/// Gives `model` that hidden size; otherwise says what is wrong with it and leaves the model alone.
std::optional<std::string> set_width(ModelSpec& model, std::int64_t hidden);

}  // namespace highwater
