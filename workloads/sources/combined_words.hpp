// Several sources as one plan: a launch line beside the files that it names.
#pragma once

#include <span>
#include <string_view>

#include "workloads/sources/plan_source.hpp"

namespace highwater {

/// Sequences of all ranks in a step: what Megatron and torchtitan give instead of micro-batches. It
/// is a word of sources only.
inline constexpr std::string_view kGlobalBatch = "global-batch";

/// The words of all `sources`, later ones win; defaults of their programs count where no source
/// says more. Where they say how many GPUs a run has, its
/// data-parallel ranks are those that the other degrees, of `given` or of a source, leave;
/// where they say how many sequences a step has, its micro-batches follow.
OptionWords combined_words(std::span<const PlanSource> sources, const OptionWords& given);

}  // namespace highwater
