#include "workloads/estimates/llmem/llmem_plan.hpp"

#include "workloads/estimates/terms/assumptions.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

bool shards_everything(DataParallel kind) {
  return kind == DataParallel::zero3 || kind == DataParallel::fsdp1 || kind == DataParallel::fsdp2;
}

bool shards_some(DataParallel kind) {
  return kind == DataParallel::zero1 || kind == DataParallel::zero2;
}

// For methods that do not themselves define how data-parallel ranks share their states.
bool follows_gemini(const EstimateInputs& inputs) {
  const Parallelism& parallel = inputs.plan.parallel;
  return parallel.dp == 1 || parallel.tp == 1 || shards_everything(parallel.dp_kind);
}

bool runs_colossalai(const EstimateInputs& inputs) {
  const Parallelism& parallel = inputs.plan.parallel;
  return parallel.tp == 1 || parallel.tp_kind == TensorParallel::colossalai;
}

}  // namespace

std::string llmem_refusal(const EstimateInputs& inputs) {
  const Parallelism& parallel = inputs.plan.parallel;
  if (!inputs.plan.training) {
    return refuse_without_training(inputs);
  }
  if (inputs.shape.decoder_layers > 0) {
    return "it covers only decoders; the model also has an encoder";
  }
  if (inputs.shape.experts > 0) {
    return "it covers only dense decoders; the model is a mixture of experts";
  }
  if (parallel.pp > 1 || parallel.cp > 1 || parallel.ep > 1) {
    return "it covers only data and tensor parallelism; the plan uses pipeline, context or expert "
           "parallelism";
  }
  if (parallel.dp > 1 && shards_some(parallel.dp_kind)) {
    return "it covers data parallelism only with everything replicated (ddp) or everything "
           "sharded (zero3, fsdp); the plan shards only some states";
  }
  return "";
}

std::vector<std::string> llmem_broken_assumptions(const EstimateInputs& inputs) {
  const Parallelism& parallel = inputs.plan.parallel;
  return broken(
      {{has_master_weights(inputs), "it assumes fp16 weights with fp32 copies"},
       {uses_adam(inputs), "it assumes Adam's two moments"},
       {trains_all(inputs), "it assumes that all parameters are trained"},
       {inputs.plan.checkpoint.kind == CheckpointKind::full,
        "it assumes that every layer is checkpointed"},
       {keeps_logits_whole(inputs),
        "it assumes that the logits of the whole batch and their "
        "shifted copy are kept"},
       {keeps_gradients(inputs), "it assumes that all gradients live at the same time"},
       {!parallel.sequence_parallel, "it assumes tensor parallelism without sequence parallelism"},
       {follows_gemini(inputs), "it assumes that data-parallel ranks share all states (ZeRO-3)"},
       {runs_colossalai(inputs), "it assumes Colossal-AI's tensor parallelism"},
       {inputs.plan.parallel.offload == Offload::none, "it assumes that nothing is offloaded"}});
}

LlmemMethod llmem_method(const EstimateInputs& inputs) {
  const Parallelism& parallel = inputs.plan.parallel;
  if (parallel.tp > 1) {
    return parallel.dp > 1 ? LlmemMethod::dp_tp : LlmemMethod::tp;
  }
  return parallel.dp > 1 && shards_everything(parallel.dp_kind) ? LlmemMethod::adp
                                                                : LlmemMethod::cdp;
}

LlmemBatch llmem_batch(const EstimateInputs& inputs) {
  return {.bs = static_cast<double>(inputs.plan.batch), .sl = static_cast<double>(inputs.seq)};
}

LlmemJob llmem_job(const EstimateInputs& inputs) {
  const Parallelism& parallel = inputs.plan.parallel;
  return {.m_base = static_cast<double>(inputs.base.count()),
          .n = parallel.dp * parallel.tp,
          .tp_n = parallel.tp};
}

}  // namespace highwater
