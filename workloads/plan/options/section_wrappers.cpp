// Options of what wraps a data-parallel model: DDP's buckets, Gemini's chunks, FSDP's types.
#include <array>

#include "workloads/plan/options/axes.hpp"
#include "workloads/plan/options/option_table.hpp"

namespace highwater::option_sections {
namespace {

using namespace axes;
using enum OptionGroup;
using enum OptionUse;

constexpr std::int64_t kMostElements = std::int64_t{1} << 40;

constexpr std::string_view kMixedPrecision =
    "torch 2.6 fsdp/_fully_shard/_fsdp_api.py MixedPrecisionPolicy";
constexpr std::string_view kGeminiPlugin = "colossalai 0.3.0 booster/plugin/gemini_plugin.py";
constexpr std::string_view kGeminiPlacement = "colossalai 0.3.0 zero/gemini/placement_policy.py";

constexpr std::array kWrappersRows{
    Option{"bucket-cap-mb", "MIB", data_parallel, rare, "size of DDP's gradient buckets",
           "torch 2.6 nn/parallel/distributed.py; first: c10d kDefaultFirstBucketBytes",
           optional_real<OfDdp<&Ddp::bucket_cap_mb>, Absent::standard>(
               1e-6, 1e9, "above 0, or default for 1 and then 25")}
        .with_default("25, and 1 for the first"),
    Option{"gemini-min-chunk", "N", data_parallel, rare,
           "smallest sharded chunk of Gemini in elements", kGeminiPlugin,
           whole<OfGemini<&Gemini::search, &ChunkSearch::smallest>>(1, kMostElements)},
    Option{"gemini-search-range", "N", data_parallel, rare,
           "how far above the smallest size Gemini searches, in elements", kGeminiPlugin,
           whole<OfGemini<&Gemini::search, &ChunkSearch::range>>(0, kMostElements)},
    Option{"gemini-search-step", "N", data_parallel, rare, "step of that search",
           "colossalai 0.3.0 booster/plugin/gemini_plugin.py: no hidden_dim",
           whole<OfGemini<&Gemini::search, &ChunkSearch::step>>(1, kMostElements)},
    Option{"gemini-gather-lone", "", data_parallel, rare,
           "chunks that only one rank has stay gathered",
           "LLMem's fork, zero/gemini/chunk/search_utils.py",
           flag<OfGemini<&Gemini::keep_lone_chunks_gathered>>()},
    Option{"gemini-empty-cache", "", data_parallel, rare,
           "the cache is emptied after wrapping and the first backward",
           "LLMem's dp_real.py and tp_real.py", flag<OfGemini<&Gemini::empties_cache>>()},
    Option{"gemini-placement", "W", data_parallel, rare,
           "where Gemini's chunks live that no operator uses", kGeminiPlacement,
           word<OfGemini<&Gemini::placement>, kGeminiPlacements>()},
    Option{"gemini-pin", "", data_parallel, rare, "Gemini's chunks have pinned memory on the host",
           kGeminiPlugin, flag<OfGemini<&Gemini::pins_memory>>()},
    Option{"gemini-const-mb", "MIB", data_parallel, rare,
           "--gemini-placement const: the most that gathered chunks take", kGeminiPlacement,
           whole<OfGemini<&Gemini::gathered_limit_mib>>(1, kMostElements)},
    Option{"gemini-warmup-ratio", "X", data_parallel, rare,
           "--gemini-placement auto: share of the GPU that the first step leaves to all but chunks",
           kGeminiPlacement, real<OfGemini<&Gemini::warmup_other_share>>(0, 1, "from 0 to 1")},
    Option{"gemini-steady-ratio", "X", data_parallel, rare,
           "--gemini-placement auto: share of the GPU that later steps may use", kGeminiPlacement,
           real<OfGemini<&Gemini::steady_share>>(0, 1, "from 0 to 1")},
    Option{"gemini-margin-ratio", "X", data_parallel, rare,
           "--gemini-placement auto: share of the GPU's unused memory for fp32 copies and moments",
           "colossalai 0.3.0 zero/gemini/gemini_optimizer.py gpu_margin_mem_ratio",
           real<OfGemini<&Gemini::margin_share>>(0, 1, "from 0 to 1")},
    Option{"bucket-view", "", data_parallel, rare,
           "gradients are views into DDP's buckets (gradient_as_bucket_view)",
           "torch 2.6 nn/parallel/distributed.py gradient_as_bucket_view",
           flag<OfDdp<&Ddp::bucket_view>>()},
    Option{"static-graph", "", data_parallel, rare, "DDP is told that the graph never changes",
           "torch 2.6 nn/parallel/distributed.py static_graph", flag<OfDdp<&Ddp::static_graph>>()},
    Option{"param-dtype", "T", data_parallel, common,
           "FSDP: dtype of gathered parameters and compute", kMixedPrecision,
           word<OfFsdp<&Fsdp::param_dtype>, kMixedDTypes>()},
    Option{"reduce-dtype", "T", data_parallel, common, "FSDP: dtype of the reduced gradients",
           kMixedPrecision, word<OfFsdp<&Fsdp::reduce_dtype>, kMixedDTypes>()},
    Option{"reshard", "W", data_parallel, common, "FSDP2: blocks freed after their forward",
           "torch 2.6 fsdp/_fully_shard/_fully_shard.py reshard_after_forward=True",
           word<OfFsdp<&Fsdp::reshard>, kReshards>()}
        .and_more(
            "with --pp never, unless given (torchtitan 01/2025 parallelize_llama.py); all: the "
            "model's own unit as well, since 2.8, where the script says "
            "reshard_after_forward=True for it"),
    Option{"fsdp-units", "W", data_parallel, rare,
           "FSDP: only blocks are units, or also the ends (embedding, norm with head) or adapters",
           "torchtitan 01/2025 parallelize_llama.py apply_fsdp",
           word<OfFsdp<&Fsdp::units>, kFsdpUnits>()}
        .and_more(
            "adapters is PEFT's policy for FSDP1, which Trainer takes (peft 0.21 utils/other.py "
            "fsdp_auto_wrap_policy); ends is what accelerate 1.15 (utils/fsdp_utils.py "
            "fsdp2_prepare_model) and "
            "torchtitan 0.3 (distributed/fsdp.py) do"),
    Option{"dp-replicate", "N", data_parallel, rare,
           "HSDP: copies of the model among the dp ranks, each sharded over dp / N",
           "torch 2.6 fsdp/_fully_shard/_fully_shard.py: a 1D mesh",
           whole<OfFsdp<&Fsdp::replicas>>(1, kMostRanks)},
};

}  // namespace

std::span<const Option> wrappers_options() {
  return kWrappersRows;
}

}  // namespace highwater::option_sections
