// What a training script does around the model: how it makes it, when it clears gradients, where
// batches come from, when it evaluates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace highwater {

/// How the model gets onto the device.
enum class ModelInit : std::uint8_t {
  device,           ///< built under `with torch.device("cuda")`
  cpu,              ///< built on the host, then .to("cuda")
  meta,             ///< built on meta, then to_empty("cuda")
  pretrained_half,  ///< built in fp32 on the host, .to("cuda"), then .half() or .bfloat16()
  pretrained        ///< read onto the GPU: from_pretrained(device_map=...)
};

enum class ZeroGradAt : std::uint8_t {
  start,     ///< before the step's first forward
  backward,  ///< between its first forward and backward
  end
};

/// How batches arrive: copied from the host, or made on the device.
enum class DataSource : std::uint8_t { to, device };

/// What is gathered of each batch beside its loss.
enum class EvalOutputs : std::uint8_t {
  loss,    ///< nothing: prediction_loss_only, or no compute_metrics
  argmax,  ///< preprocess_logits_for_metrics takes the likeliest token, as run_clm.py does
  logits   ///< compute_metrics is given the logits
};

/// Between training steps: forward passes without gradients, whose outputs wait on the device until
/// enough batches are gathered (transformers 5.24, trainer.py evaluation_loop, training_args.py).
struct Evaluation {
  std::int64_t batch = 0;    ///< sequences at once; 0: no evaluation
  std::int64_t batches = 2;  ///< of each evaluation
  int every = 2;             ///< training steps before each evaluation
  EvalOutputs outputs = EvalOutputs::loss;
  /// Batches after which what was gathered goes to the host; absent: at the end.
  std::optional<std::int64_t> accumulation_steps;
  bool concatenates = true;  ///< false: gathered tensors stay in a list

  bool operator==(const Evaluation&) const = default;
};

constexpr bool evaluates(const Evaluation& evaluation) {
  return evaluation.batch > 0;
}

/// A step, from 0, of a run of so many.
struct StepOfRun {
  int step = 0;
  int steps = 1;
};

/// Whether a run evaluates after a step: one that is shorter than the distance between evaluations
/// does so after its last.
constexpr bool evaluates_after(const Evaluation& evaluation, StepOfRun at) {
  const int distance = std::max(1, std::min(evaluation.every, at.steps));
  return evaluates(evaluation) && (at.step + 1) % distance == 0;
}

}  // namespace highwater
