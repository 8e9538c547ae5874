// What was evaluated between the steps of a recorded run, and what else ran without gradients.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "workloads/sources/observed_parts.hpp"

namespace highwater {
namespace {

constexpr std::string_view kNotSimulated =
    "an evaluation between steps, which adds memory that is not simulated";

void leave_out(const ObservedFacts& facts, SourceKeys& keys) {
  keys.add_not_supported("evaluation", facts.shown("evaluation"), std::string(kNotSimulated),
                         "eval-batch", MemorySign::more);
}

bool runs_loop_that_is_known(const ObservedFacts& facts) {
  const std::string loop = facts.text("loop").value_or("plain");
  const std::string by = facts.text("evaluation.by").value_or("");
  return (by == "trainer" && loop == "trainer") || (by == "script" && loop == "plain");
}

/// "loss", "argmax", "logits"; empty for what plans cannot say.
std::string outputs_word(const ObservedFacts& facts) {
  if (facts.flag("evaluation.loss_only").value_or(true)) {
    return "loss";
  }
  if (facts.flag("evaluation.metrics_by_batch").value_or(false) ||
      facts.flag("evaluation.inputs_for_metrics").value_or(false)) {
    return "";
  }
  const bool are_tensors = !facts.text("evaluation.gathered");  // not a name of several
  if (!facts.flag("evaluation.preprocesses").value_or(false)) {
    return are_tensors ? "logits" : "";
  }
  const bool are_tokens = facts.text("evaluation.gathered.0") == "int64" &&
                          facts.wholes("evaluation.gathered").size() == 2;
  return are_tokens ? "argmax" : "";
}

/// Whether evaluations came after every so many steps, or the only one after the last.
bool is_regular(const std::vector<std::int64_t>& after) {
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (after[i] != static_cast<std::int64_t>(i + 1) * after.front()) {
      return false;
    }
  }
  return !after.empty() && after.front() > 0;
}

void read_times(const ObservedFacts& facts, SourceKeys& keys) {
  const auto after = facts.wholes("evaluation.after_steps");
  const auto first = std::ranges::find_if(after, [](std::int64_t step) { return step > 0; });
  const std::int64_t steps = first == after.end() ? 1 : *first;
  keys.use("evaluation.after_steps", facts.shown("evaluation.after_steps"), "eval-steps",
           std::to_string(steps));
  if (!is_regular(after)) {
    keys.add_not_supported("evaluation.after_steps", facts.shown("evaluation.after_steps"),
                           fmt::format("simulated after every {} steps", steps),
                           MemorySign::little);
  }
}

void read_gathering(const ObservedFacts& facts, const std::string& outputs, SourceKeys& keys) {
  if (facts.text("evaluation.by") != "trainer") {
    return;
  }
  keys.use("evaluation.gathered", facts.shown("evaluation.gathered"), "eval-outputs", outputs);
  if (const auto steps = facts.whole("evaluation.accumulation_steps")) {
    keys.use("evaluation.accumulation_steps", std::to_string(*steps), "eval-accumulation-steps",
             std::to_string(*steps));
  }
  if (const auto joined = facts.flag("evaluation.concatenates")) {
    keys.use("evaluation.concatenates", flag_word(*joined), "eval-concat", flag_word(*joined));
  }
}

/// The one shape of all batches; empty if there are several.
std::vector<std::int64_t> only_shape(const ObservedFacts& facts) {
  const auto shape = facts.wholes("evaluation.shapes.0");
  return facts.find("evaluation.shapes.1") == nullptr && shape.size() == 2
             ? shape
             : std::vector<std::int64_t>{};
}

/// Tokens of the longest sequence that was trained; 0 if the batches have no tokens.
std::int64_t trained_tokens(const ObservedFacts& facts) {
  std::int64_t longest = 0;
  for (int i = 0;; ++i) {
    const auto shape = facts.wholes(fmt::format("batch.shapes.{}", i));
    if (shape.size() != 2) {
      return longest;
    }
    longest = std::max(longest, shape[1]);
  }
}

void read_evaluation(const ObservedFacts& facts, SourceKeys& keys) {
  const auto shape = only_shape(facts);
  const std::string outputs = outputs_word(facts);
  const auto passes = facts.wholes("evaluation.passes");
  if (!runs_loop_that_is_known(facts) || shape.empty() || outputs.empty() || passes.empty() ||
      shape[1] != trained_tokens(facts)) {
    leave_out(facts, keys);
    return;
  }
  keys.use("evaluation.shapes", facts.shown("evaluation.shapes"), "eval-batch",
           std::to_string(shape[0]));
  keys.use("evaluation.passes", facts.shown("evaluation.passes"), "eval-batches",
           std::to_string(std::ranges::max(passes)));
  read_times(facts, keys);
  read_gathering(facts, outputs, keys);
}

}  // namespace

void read_observed_evaluation(const ObservedFacts& facts, SourceKeys& keys) {
  if (runs_other_loop_of_trl(facts)) {
    return;  // a reference and generation are parts of these
  }
  const boost::json::value* const told = facts.find("evaluation");
  if (told != nullptr && told->is_object()) {
    read_evaluation(facts, keys);
  }
  if (const auto passes = facts.whole("steps.without_gradients"); passes.value_or(0) > 0) {
    keys.add_not_supported("steps.without_gradients", std::to_string(*passes),
                           "forward passes without gradients: generation, another model or an "
                           "evaluation, none of which is simulated",
                           MemorySign::more);
  }
}

}  // namespace highwater
