// Feed-forward parts that are mixtures of experts, by the facts of a family's code.
#pragma once

#include "workloads/models/decoders/decoder.hpp"

namespace highwater::models {

/// The feed-forward part of block `layer`: a mixture, or a dense one where the configuration says
/// so.
std::unique_ptr<FeedForward> make_feed_forward(Module* parent, std::int64_t layer,
                                               const LlamaConfig& config);

}  // namespace highwater::models
