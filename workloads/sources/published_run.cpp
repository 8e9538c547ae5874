#include "workloads/sources/published_run.hpp"

#include <algorithm>

#include <boost/algorithm/string/predicate.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace highwater {
namespace {

/// Sections 3 and 5.1: one replica in a DGX-2H, to be repeated by --dp.
PublishedRun megatron_gpt2(const std::string& size, const std::string& gpus) {
  return {"megatron-gpt2-" + size,
          "Shoeybi et al. 2019, arXiv:1909.08053, table 1 and section 5.1",
          {{"parameters", size, "model", "megatron-gpt2-" + size},
           {"code", "Megatron-LM", "framework", "megatron"},
           {"model-parallel GPUs", gpus, "tp", gpus},
           {"batch", "8", "batch", "8"},
           {"sequence length", "1024", "seq", "1024"},
           {"precision", "mixed, with loss scaling", "precision", "fp16"},
           {"attention", "batched matrix products", "attention", "eager"},
           {"activation checkpointing", "each layer", "checkpoint", "full"},
           {"GPU", "V100 32 GB", "gpu", "v100-32"}}};
}

/// Megatron-Core has neither ALiBi nor a norm behind the embedding: a GPT-2 of BLOOM's sizes stands
/// for it, whose table of positions adds 0.02 % of the parameters.
constexpr const char* kBloomInMegatron =
    R"({"name": "bloom-176b-as-gpt", "family": "gpt2", "layers": 70, "hidden": 14336, "heads": 112, )"
    R"("vocab": 250880, "max_positions": 2048})";

/// The launch script of the run (tr11-176B-ml) has its micro-batch, batch and checkpointing. 2048
/// sequences in micro-batches of 2 over 8 replicas are 128 micro-batches.
PublishedRun bloom() {
  return {"bloom-176b",
          "BigScience 2022, arXiv:2211.05100, section 3.4, and its launch script tr11-176B-ml",
          {{"model", "BLOOM", "model", kBloomInMegatron},
           {"code", "Megatron-DeepSpeed", "framework", "megatron"},
           {"tensor parallel", "4", "tp", "4"},
           {"pipeline parallel", "12", "pp", "12"},
           {"data parallel", "8", "dp", "8"},
           {"optimizer states", "ZeRO stage 1", "dp-kind", "zero1"},
           {"micro-batch", "2", "batch", "2"},
           {"global batch", "2048", "grad-accum", "128"},
           {"sequence length", "2048", "seq", "2048"},
           {"precision", "bfloat16, fp32 states", "precision", "bf16"},
           {"attention", "batched matrix products", "attention", "eager"},
           {"activation checkpointing", "each layer", "checkpoint", "full"},
           {"GPU", "A100 80 GB", "gpu", "a100-80"}},
          {{"position_embedding_type", "alibi",
            "a table of learned positions stands for it; the biases take batch * heads / tp * seq "
            "numbers in each layer",
            MemorySign::little},
           {"embed_layernorm", "true",
            "the norm behind the embedding keeps its input, batch * seq * hidden numbers on the "
            "first stage",
            MemorySign::little}}};
}

}  // namespace

std::span<const PublishedRun> published_runs() {
  static const std::vector<PublishedRun> runs{
      bloom(), megatron_gpt2("1.2b", "1"), megatron_gpt2("2.5b", "2"), megatron_gpt2("4.2b", "4"),
      megatron_gpt2("8.3b", "8")};
  return runs;
}

const PublishedRun* find_published_run(std::string_view name) {
  const auto runs = published_runs();
  const auto found = std::ranges::find_if(
      runs, [&](const PublishedRun& run) { return boost::algorithm::iequals(run.name, name); });
  return found == runs.end() ? nullptr : &*found;
}

PlanSource plan_of_published(const PublishedRun& run) {
  SourceKeys keys;
  for (const PublishedFact& fact : run.facts) {
    keys.use(fact.said, fact.value, fact.option, fact.word);
  }
  for (const PublishedGap& gap : run.gaps) {
    keys.add_not_supported(gap.said, gap.value, gap.why, gap.sign);
  }
  PlanSource source = keys.finish();
  source.file = fmt::format("{} ({})", run.name, run.source);
  return source;
}

std::string published_run_names() {
  std::vector<std::string_view> names;
  for (const PublishedRun& run : published_runs()) {
    names.push_back(run.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace highwater
