// Recordings of TRL's preference, reward and reinforcement learning. What a batch of the model
// looks like follows from what the trainer was told (trl 1.16): pairs are fed as twice as many
// sequences, prompts together with the completions that were written for them.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "workloads/sources/observed_parts.hpp"

namespace highwater {
namespace {

/// A trainer as the recorder calls it, and the framework of plans.
struct TrlLoop {
  std::string_view trainer;
  std::string_view framework;
  bool writes = false;   ///< its completions itself, of a largest length
  bool answers = false;  ///< a prompt has answers, whose length is an option
};

constexpr std::array kTrlLoops{
    TrlLoop{"DPOTrainer", "trl-dpo", false, true},   TrlLoop{"KTOTrainer", "trl-kto", false, true},
    TrlLoop{"ORPOTrainer", "trl-orpo", false, true}, TrlLoop{"RewardTrainer", "trl-reward"},
    TrlLoop{"GRPOTrainer", "trl-grpo", true},        TrlLoop{"RLOOTrainer", "trl-rloo", true}};

const TrlLoop* loop_of(const ObservedFacts& facts) {
  const std::string loop = facts.text("loop").value_or("");
  const auto* const found = std::ranges::find(kTrlLoops, loop, &TrlLoop::trainer);
  return found == kTrlLoops.end() ? nullptr : found;
}

/// Tokens of the first batch with gradients.
std::int64_t tokens_of(const ObservedFacts& facts) {
  const auto shape = facts.wholes("batch.shapes.0");
  return shape.size() == 2 ? shape[1] : 0;
}

void use_whole(std::string_view key, std::int64_t value, std::string_view option,
               SourceKeys& keys) {
  keys.use(std::string(key), std::to_string(value), std::string(option), std::to_string(value));
}

void read_lengths(const ObservedFacts& facts, const TrlLoop& loop, SourceKeys& keys) {
  const std::int64_t tokens = tokens_of(facts);
  const std::int64_t written = loop.writes ? facts.whole("trl.completion").value_or(0) : 0;
  if (tokens <= written) {
    keys.add_not_supported("batch.shapes", facts.shown("batch.shapes"),
                           "completions ended before their longest; give --seq and --target-seq",
                           "seq");
    return;
  }
  use_whole("batch.shapes", tokens - written, "seq", keys);
  if (loop.writes) {
    use_whole("trl.completion", written, "target-seq", keys);
  } else if (const auto answer = facts.whole("trl.answer");
             loop.answers && answer.value_or(0) > 0) {
    use_whole("trl.answer", *answer, "target-seq", keys);
  }
}

}  // namespace

bool runs_other_loop_of_trl(const ObservedFacts& facts) {
  return loop_of(facts) != nullptr && facts.whole("trl.batch").has_value();
}

void read_observed_trl(const ObservedFacts& facts, SourceKeys& keys) {
  const TrlLoop& loop = *loop_of(facts);
  keys.use("loop", std::string(loop.trainer), "framework", std::string(loop.framework));
  use_whole("trl.batch", *facts.whole("trl.batch"), "batch", keys);
  use_whole("trl.accumulation", facts.whole("trl.accumulation").value_or(1), "grad-accum", keys);
  read_lengths(facts, loop, keys);
  const bool has_reference = facts.flag("trl.reference").value_or(false);
  keys.use("trl.reference", flag_word(has_reference), "reference-model", flag_word(has_reference));
  if (facts.flag("trl.generates_by_vllm").value_or(false)) {
    keys.add_not_supported("trl.generates_by_vllm", "true",
                           "vLLM wrote the completions, with weights and a cache of its own");
  }
}

}  // namespace highwater
