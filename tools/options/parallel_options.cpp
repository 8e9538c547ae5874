#include "tools/options/parallel_options.hpp"

#include <cstdint>
#include <limits>
#include <string>

#include "tools/options/ddp_options.hpp"
#include "tools/options/plan_words.hpp"
#include "tools/options/zero_words.hpp"

namespace highwater {
namespace {

// Limits of single options: far above any real run, low enough that no product of a few overflows.
constexpr std::int64_t kMostRanks = 1 << 20;
constexpr std::int64_t kMostLag = 1'000'000;
constexpr std::int64_t kMostElements = std::int64_t{1} << 40;

void read_megatron(PlanReader& reader, Parallelism& parallel) {
  Megatron& megatron = parallel.megatron;
  reader.word("overlap-grad-reduce", kYesNo, megatron.overlap_grad_reduce);
  reader.word("overlap-param-gather", kYesNo, megatron.overlap_param_gather);
  reader.word("fp32-grads", kYesNo, megatron.fp32_grads);
  reader.word("wgrad-fusion", kYesNo, megatron.wgrad_fusion);
  if (const auto given = reader.text("ddp-bucket-size"); given && *given != "default") {
    megatron.bucket_size =
        reader.integer<std::int64_t>("ddp-bucket-size", *given, 1, std::int64_t{1} << 40);
  }
  reader.count("vocab-divisor", megatron.vocab_divisor, 1, 1 << 20);
  reader.word("cp-kind", kContextParallels, megatron.cp_kind);
  if (reader.text("moe-capacity-factor") != "none") {
    megatron.moe_capacity_factor =
        reader.real("moe-capacity-factor", 1e-3, 1e3, "above 0, or none for dropless");
  }
  megatron.moe_imbalance =
      reader.real("moe-imbalance", 1, 1e6, "1 or more").value_or(megatron.moe_imbalance);
  Apex& apex = parallel.apex;
  apex.bucket_cap_mb =
      reader.real("apex-bucket-mb", 1e-3, 1e6, "above 0").value_or(apex.bucket_cap_mb);
  reader.word("apex-remainders", kYesNo, apex.store_remainders);
  reader.word("apex-contiguous-grads", kYesNo, apex.contiguous_grads);
}

void read_zero(PlanReader& reader, Zero& zero) {
  for (const auto& [option, member, help] : kZeroNumbers) {
    reader.count(option, zero.*member, 0, std::numeric_limits<std::int64_t>::max());
  }
  for (const auto& [option, member, help] : kZeroFlags) {
    reader.word(option, kYesNo, zero.*member);
  }
  if (reader.text("overlap-comm").value_or("default") != "default") {
    bool overlaps = false;
    reader.word("overlap-comm", kYesNo, overlaps);
    zero.overlap_comm = overlaps;
  }
}

void add_axis_options(OptionParser& parser) {
  parser.add()("dp", text_value("N"), "data-parallel ranks")(
      "dp-kind", text_value("K"),
      (choices(kDataParallels) + "; zero kinds are DeepSpeed's engine, or the framework's own")
          .c_str())("tp", text_value("N"), "tensor-parallel ranks")(
      "tp-kind", text_value("K"), choices(kTensorParallels).c_str())(
      "sp", flag_value(),
      "sequence parallelism along the tensor-parallel ranks: norms work on a part each")(
      "loss-parallel", flag_value(),
      "tp-kind dtensor: logits stay split over the vocabulary (loss_parallel)")(
      "pp", text_value("N"),
      "pipeline stages: Megatron-Core's with --model-code megatron, else those of "
      "torch.distributed.pipelining over --grad-accum micro-batches of --batch sequences")(
      "pp-schedule", text_value("S"),
      (choices(kSchedules) + "; naive: one process spreads a transformers model over N GPUs "
                             "(device_map), a rank is a GPU")
          .c_str())("pp-chunks", text_value("N"),
                    "model chunks per rank of an interleaved schedule")(
      "cp", text_value("N"), "context-parallel ranks: parts of each sequence")(
      "cp-kind", text_value("K"),
      (choices(kContextParallels) + "; Megatron's cp_comm_type p2p and a2a").c_str())(
      "ep", text_value("N"), "ranks that share the experts, of dp * cp")(
      "moe-capacity-factor", text_value("X"),
      "every expert takes X times its even share of tokens, padded "
      "(--moe-expert-capacity-factor with --moe-pad-expert-input-to-capacity); none: dropless")(
      "moe-imbalance", text_value("X"),
      "dropless: the busiest expert-parallel rank receives X times the mean")(
      "offload", text_value("W"),
      (choices(kOffloads) +
       ". params and both with fsdp1, fsdp2: parameters, gradients and optimizer "
       "states in pinned host memory (CPUOffload, CPUOffloadPolicy(pin_memory=True)); optimizer "
       "with DeepSpeed's zero1, zero2, zero3; activations: torch.autograd.graph.save_on_cpu("
       "pin_memory=True) around forward and loss")
          .c_str());
}

void add_ddp_and_gemini_options(OptionParser& parser) {
  parser.add()("bucket-cap-mb", text_value("MIB"), "size of DDP's gradient buckets")(
      "gemini-min-chunk", text_value("N"), "smallest sharded chunk of Gemini in elements")(
      "gemini-search-range", text_value("N"),
      "how far above the smallest size Gemini searches, in elements")(
      "gemini-search-step", text_value("N"), "step of that search")(
      "gemini-gather-lone", flag_value(), "chunks that one rank has alone stay gathered")(
      "gemini-empty-cache", flag_value(),
      "the cache is emptied after wrapping and the first backward")(
      "bucket-view", flag_value(),
      "gradients are views into DDP's buckets (gradient_as_bucket_view)")(
      "static-graph", flag_value(), "DDP is told that the graph never changes");
}

void add_fsdp_options(OptionParser& parser) {
  parser.add()(
      "param-dtype", text_value("T"),
      (choices(kMixedDTypes) +
       "; FSDP's mixed precision: type of gathered parameters and of what is computed with them")
          .c_str())("reduce-dtype", text_value("T"),
                    (choices(kMixedDTypes) + "; type of the gradients that FSDP reduces").c_str())(
      "reshard", text_value("W"),
      (choices(kReshards) +
       "; which blocks FSDP2 frees after their forward (reshard_after_forward); with --pp never, "
       "unless given (torchtitan 01/2025 parallelize_llama.py)")
          .c_str())("dp-replicate", text_value("N"),
                    "HSDP: the dp ranks hold so many copies, each sharded over dp / N");
}

void add_megatron_options(OptionParser& parser) {
  parser.add()("overlap-grad-reduce", flag_value(),
               "Megatron reduces gradient buckets during the backward")(
      "overlap-param-gather", flag_value(), "Megatron gathers parameters during the forward")(
      "fp32-grads", flag_value(), "Megatron's gradient buffer is fp32")(
      "wgrad-fusion", flag_value(), "Megatron adds weight gradients to that buffer in the matmul")(
      "ddp-bucket-size", text_value("N"), "elements of Megatron's gradient buckets")(
      "vocab-divisor", text_value("N"),
      "Megatron pads the vocabulary to a multiple of this times tp")(
      "apex-bucket-mb", text_value("MIB"), "size of the buckets of Apex's DistributedFusedAdam")(
      "apex-remainders", flag_value(),
      "Apex keeps 16 bits beside bf16 parameters instead of fp32 copies")(
      "apex-contiguous-grads", flag_value(), "Apex's gradient buckets are one buffer");
}

void add_fsdp1_options(OptionParser& parser) {
  parser.add()("strategy", text_value("S"),
               (choices(kShardingStrategies) + "; FSDP1's ShardingStrategy").c_str())(
      "use-orig-params", flag_value(),
      "FSDP1: the optimizer sees the model's parameters, not the flat ones")(
      "limit-all-gathers", flag_value(),
      "FSDP1: the host waits, so that at most two all-gathers are under way")(
      "forward-prefetch", flag_value(),
      "FSDP1: gather the next unit's parameters before a "
      "unit's forward");
}

void add_event_options(OptionParser& parser) {
  parser.add()("no-sync", flag_value(),
               "gradients are reduced after the last micro-batch of a step only")(
      "backend", text_value("B"), "what carries collectives: nccl, or fake, which does nothing")(
      "event-lag", text_value("N"),
      "kernel launches by which events of other streams complete late")(
      "event-queries", text_value("N"), "times an event is found incomplete");
}

void add_zero_options(OptionParser& parser) {
  parser.add()("overlap-comm", flag_value(),
               "DeepSpeed reduces (and zero3 gathers) on streams of its own");
  for (const auto& [option, member, help] : kZeroNumbers) {
    parser.add()(option, text_value("N"), help);
  }
  for (const auto& [option, member, help] : kZeroFlags) {
    parser.add()(option, flag_value(), help);
  }
}

}  // namespace

void add_parallel_options(OptionParser& parser) {
  add_axis_options(parser);
  add_ddp_and_gemini_options(parser);
  add_fsdp_options(parser);
  add_megatron_options(parser);
  add_fsdp1_options(parser);
  add_event_options(parser);
  add_ddp_options(parser);
  add_zero_options(parser);
}

void read_parallel_options(PlanReader& reader, Parallelism& parallel) {
  reader.count("dp", parallel.dp, 1, kMostRanks);
  reader.word("dp-kind", kDataParallels, parallel.dp_kind);
  reader.count("tp", parallel.tp, 1, kMostRanks);
  reader.word("tp-kind", kTensorParallels, parallel.tp_kind);
  reader.word("sp", kYesNo, parallel.sequence_parallel);
  reader.word("loss-parallel", kYesNo, parallel.loss_parallel);
  reader.count("pp", parallel.pp, 1, kMostRanks);
  reader.word("pp-schedule", kSchedules, parallel.schedule);
  reader.count("pp-chunks", parallel.chunks, 1, kMostRanks);
  reader.count("cp", parallel.cp, 1, kMostRanks);
  reader.count("ep", parallel.ep, 1, kMostRanks);
  reader.word("offload", kOffloads, parallel.offload);
  if (reader.text("bucket-cap-mb") != "default") {
    parallel.ddp.bucket_cap_mb =
        reader.real("bucket-cap-mb", 1e-6, 1e9, "above 0, or default for 1 and then 25");
  }
  reader.count("gemini-min-chunk", parallel.gemini.search.smallest, 1, kMostElements);
  reader.count("gemini-search-range", parallel.gemini.search.range, 0, kMostElements);
  reader.count("gemini-search-step", parallel.gemini.search.step, 1, kMostElements);
  reader.word("gemini-gather-lone", kYesNo, parallel.gemini.keep_lone_chunks_gathered);
  reader.word("gemini-empty-cache", kYesNo, parallel.gemini.empties_cache);
  reader.word("bucket-view", kYesNo, parallel.ddp.bucket_view);
  reader.word("static-graph", kYesNo, parallel.ddp.static_graph);
  read_ddp_options(reader, parallel.ddp);
  reader.word("param-dtype", kMixedDTypes, parallel.fsdp.param_dtype);
  reader.word("reduce-dtype", kMixedDTypes, parallel.fsdp.reduce_dtype);
  if (parallel.pp > 1 && is_fsdp2(parallel)) {
    parallel.fsdp.reshard = Reshard::never;
  }
  reader.word("reshard", kReshards, parallel.fsdp.reshard);
  reader.count("dp-replicate", parallel.fsdp.replicas, 1, kMostRanks);
  read_megatron(reader, parallel);
  reader.word("strategy", kShardingStrategies, parallel.fsdp.strategy);
  reader.word("use-orig-params", kYesNo, parallel.fsdp.use_orig_params);
  reader.word("limit-all-gathers", kYesNo, parallel.fsdp.limit_all_gathers);
  reader.word("forward-prefetch", kYesNo, parallel.fsdp.forward_prefetch);
  read_zero(reader, parallel.zero);
  reader.word("no-sync", kYesNo, parallel.no_sync);
  reader.word("backend", kCommBackends, parallel.backend);
  reader.count("event-lag", parallel.event_lag, 0, kMostLag);
  reader.count("event-queries", parallel.event_queries, 0, kMostLag);
}

}  // namespace highwater
