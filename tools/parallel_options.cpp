#include "tools/parallel_options.hpp"

#include <cstdint>
#include <limits>
#include <string>

#include "tools/plan_words.hpp"
#include "tools/zero_words.hpp"

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
  parser.add()("dp", text_value("N"), "data-parallel ranks; default 1")(
      "dp-kind", text_value("K"),
      (choices(kDataParallels) +
       "; default ddp. zero kinds are DeepSpeed's engine, or the framework's own")
          .c_str())("tp", text_value("N"), "tensor-parallel ranks; default 1")(
      "tp-kind", text_value("K"), (choices(kTensorParallels) + "; default megatron").c_str())(
      "sp", flag_value(),
      "sequence parallelism along the tensor-parallel ranks: norms work on a part each; default "
      "false")(
      "loss-parallel", flag_value(),
      "tp-kind dtensor: logits stay split over the vocabulary (torch.distributed.tensor.parallel."
      "loss_parallel); default false")(
      "pp", text_value("N"),
      "pipeline stages; default 1. Megatron-Core's with --model-code megatron, else those of "
      "torch.distributed.pipelining over --grad-accum micro-batches of --batch sequences")(
      "pp-schedule", text_value("S"),
      (choices(kSchedules) +
       "; default 1f1b (torchtitan's pipeline_parallel_schedule). naive: one process spreads a "
       "transformers model over N GPUs (device_map), a rank is a GPU")
          .c_str())("pp-chunks", text_value("N"),
                    "model chunks per rank of an interleaved schedule; default 2 (torchtitan's "
                    "generate_split_points)")(
      "cp", text_value("N"), "context-parallel ranks: parts of each sequence; default 1")(
      "cp-kind", text_value("K"),
      (choices(kContextParallels) +
       "; default ring (Megatron's cp_comm_type p2p; ulysses is its a2a)")
          .c_str())("ep", text_value("N"), "ranks that share the experts, of dp * cp; default 1")(
      "moe-capacity-factor", text_value("X"),
      "every expert takes X times its even share of tokens, padded "
      "(--moe-expert-capacity-factor with --moe-pad-expert-input-to-capacity); default none: "
      "dropless")(
      "moe-imbalance", text_value("X"),
      "dropless: the busiest expert-parallel rank receives X times the mean; default 1")(
      "offload", text_value("W"),
      (choices(kOffloads) +
       "; default none. Simulated: optimizer with DeepSpeed's zero1 and zero2; others by closed "
       "forms only")
          .c_str());
}

void add_ddp_and_gemini_options(OptionParser& parser) {
  parser.add()("bucket-cap-mb", text_value("MIB"),
               "size of DDP's gradient buckets; default 25, and 1 for the first")(
      "gemini-min-chunk", text_value("N"),
      "smallest sharded chunk of Gemini in elements; default 33554432 (Colossal-AI: "
      "min_chunk_size_mb 32)")(
      "gemini-search-range", text_value("N"),
      "how far above the smallest size Gemini searches, in elements; default 33554432 "
      "(search_range_mb 32)")("gemini-search-step", text_value("N"),
                              "step of that search; default 1024 (hidden_dim not given)")(
      "gemini-gather-lone", flag_value(),
      "chunks that one rank has alone stay gathered; default true (LLMem's change of "
      "search_utils.py)")("gemini-empty-cache", flag_value(),
                          "the cache is emptied after wrapping and the first backward; default "
                          "true (LLMem's scripts)")(
      "bucket-view", flag_value(),
      "gradients are views into DDP's buckets (gradient_as_bucket_view); default false")(
      "static-graph", flag_value(), "DDP is told that the graph never changes; default false");
}

void add_fsdp_options(OptionParser& parser) {
  parser.add()(
      "param-dtype", text_value("T"),
      (choices(kMixedDTypes) +
       "; FSDP's mixed precision: type of gathered parameters and of what is computed with them; "
       "default none, as they are (MixedPrecisionPolicy)")
          .c_str())("reduce-dtype", text_value("T"),
                    (choices(kMixedDTypes) +
                     "; type of the gradients that FSDP reduces; default none, as they are")
                        .c_str())(
      "reshard", text_value("W"),
      (choices(kReshards) +
       "; which blocks FSDP2 frees after their forward (reshard_after_forward); default always")
          .c_str())("dp-replicate", text_value("N"),
                    "HSDP: the dp ranks hold so many copies, each sharded over dp / N; default 1");
}

void add_megatron_options(OptionParser& parser) {
  parser.add()(
      "overlap-grad-reduce", flag_value(),
      "Megatron reduces gradient buckets during the backward; default false (arguments.py)")(
      "overlap-param-gather", flag_value(),
      "Megatron gathers parameters during the forward; default false (arguments.py)")(
      "fp32-grads", flag_value(),
      "Megatron's gradient buffer is fp32; default true, as --bf16 sets it (arguments.py)")(
      "wgrad-fusion", flag_value(),
      "Megatron adds weight gradients to that buffer in the matmul; default true")(
      "ddp-bucket-size", text_value("N"),
      "elements of Megatron's gradient buckets; default max(40e6, 1e6 dp) when they overlap")(
      "vocab-divisor", text_value("N"),
      "Megatron pads the vocabulary to a multiple of this times tp; default 128")(
      "apex-bucket-mb", text_value("MIB"),
      "size of the buckets of Apex's DistributedFusedAdam; default 100 (bucket_cap_mb)")(
      "apex-remainders", flag_value(),
      "Apex keeps 16 bits beside bf16 parameters instead of fp32 copies; default true (NeMo)")(
      "apex-contiguous-grads", flag_value(),
      "Apex's gradient buckets are one buffer; default false, in NeMo true");
}

void add_fsdp1_options(OptionParser& parser) {
  parser.add()("strategy", text_value("S"),
               (choices(kShardingStrategies) +
                "; FSDP1's ShardingStrategy; default full_shard (fully_sharded_data_parallel.py)")
                   .c_str())(
      "use-orig-params", flag_value(),
      "FSDP1: the optimizer sees the model's parameters, not the flat ones; default "
      "true (the class's own default is false)")(
      "limit-all-gathers", flag_value(),
      "FSDP1: the host waits, so that at most two all-gathers are under way; default true "
      "(fully_sharded_data_parallel.py)")("forward-prefetch", flag_value(),
                                          "FSDP1: gather the next unit's parameters before a "
                                          "unit's forward; default false "
                                          "(fully_sharded_data_parallel.py)");
}

void add_event_options(OptionParser& parser) {
  parser.add()("no-sync", flag_value(),
               "gradients are reduced after the last micro-batch of a step only; default false")(
      "backend", text_value("B"),
      "what carries collectives: nccl (default) or fake, which does nothing")(
      "event-lag", text_value("N"),
      "kernel launches by which events of other streams complete late; default 0")(
      "event-queries", text_value("N"), "times an event is found incomplete; default 0");
}

void add_zero_options(OptionParser& parser) {
  parser.add()(
      "overlap-comm", flag_value(),
      "DeepSpeed reduces (and zero3 gathers) on streams of its own; default true of zero3 only");
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
  reader.word("param-dtype", kMixedDTypes, parallel.fsdp.param_dtype);
  reader.word("reduce-dtype", kMixedDTypes, parallel.fsdp.reduce_dtype);
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
