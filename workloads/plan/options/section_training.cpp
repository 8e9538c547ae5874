// Options of the training loop: optimizer, gradients, steps, adapters.
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "traces/parse_text.hpp"
#include "workloads/plan/catalog/named_model.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/optimizer_table.hpp"
#include "workloads/plan/options/axes.hpp"
#include "workloads/plan/options/option_table.hpp"
#include "workloads/plan/options/peft_axis.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::option_sections {
namespace {

using namespace axes;
using enum OptionGroup;
using enum OptionUse;

constexpr std::int64_t kMostSteps = 10'000;
constexpr std::int64_t kMostRank = 1 << 20;
constexpr std::int64_t kMostEvaluated = 1'000'000;  // sequences, as of a batch

constexpr OptionAxis kLoraTargets{
    {},
    [](const TrainingPlan& plan) -> OptionValue {
      return fmt::format("{}", fmt::join(plan.lora.targets, ","));
    },
    [](TrainingPlan& plan, std::string_view text, const AllowedValues&) -> Complaint {
      const std::vector<std::string> targets = split(text, ',');
      if (std::ranges::any_of(targets, &std::string::empty)) {
        return "an empty name; write them as q_proj,v_proj";
      }
      plan.lora.targets = targets;
      return std::nullopt;
    }};

constexpr std::string_view kAllBut = "all-but:";

/// A name as named_modules() has it, or the last parts of one.
bool is_module_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.';
  });
}

Complaint set_frozen(TrainingPlan& plan, std::string_view text, const AllowedValues& /*unused*/) {
  const std::string_view named = text.starts_with(kAllBut) ? text.substr(kAllBut.size()) : text;
  if (text.empty() || text == "none") {
    plan.frozen.clear();
    return std::nullopt;
  }
  if (!std::ranges::all_of(split(named, ','), is_module_name)) {
    return "no names of modules; write them as backbone,embeddings, or all-but:classifier";
  }
  plan.frozen = split(text, ',');
  return std::nullopt;
}

constexpr OptionAxis kFrozen{{},
                             [](const TrainingPlan& plan) -> OptionValue {
                               return fmt::format("{}", fmt::join(plan.frozen, ","));
                             },
                             set_frozen};

constexpr OptionAxis kTeacher{
    {},
    [](const TrainingPlan& plan) -> OptionValue {
      return plan.teacher ? plan.teacher->name : std::string();
    },
    [](TrainingPlan& plan, std::string_view text, const AllowedValues&) -> Complaint {
      if (text.empty() || text == "none") {
        plan.teacher.reset();
        return std::nullopt;
      }
      std::optional<ModelSpec> model = find_named_model(std::string(text));
      if (!model) {
        return unknown_model(text);
      }
      plan.teacher = *std::move(model);
      return std::nullopt;
    }};

/// Its words are data (workloads/facts/optimizers.json).
Option optimizer_row() {
  return {"optimizer",
          "O",
          training,
          common,
          "",
          "Highwater's choice; transformers 5.12 training_args.py optim: adamw_torch before torch "
          "2.8",
          OptionAxis{AllowedWords{optimizer_words()},
                     [](const TrainingPlan& plan) -> OptionValue {
                       return std::string(word_of(plan.optimizer.kind));
                     },
                     [](TrainingPlan& plan, std::string_view text, const AllowedValues& list) {
                       const Reading<std::size_t> position = read_word(text, list);
                       if (position.value) {
                         plan.optimizer.kind = find_optimizer(text)->kind;
                       }
                       return position.complaint;
                     }}};
}

constexpr std::array kTrainingRows{
    Option{"optimizer-impl", "I", training, rare, "",
           "torch 2.6 optim/optimizer.py _default_to_fused_or_foreach: foreach on CUDA",
           word<OfOptimizer<&Optimizer::impl>, kOptimizerImpls>()}
        .and_more("deepspeed: the optimizer that its configuration names (FusedAdam, on the host "
                  "CPUAdam)"),
    Option{"param-groups", "N", training, rare, "2: norms and biases in their own group",
           "torch 2.6 optim/optimizer.py: one group of model.parameters()",
           whole<OfOptimizer<&Optimizer::param_groups>>(1, 2)},
    Option{"master-weights", "", training, rare, "fp32 copies of low-precision parameters",
           "torch 2.6 optim/adamw.py: it has none",
           flag<OfOptimizer<&Optimizer::master_weights>>()},
    Option{"optimizer-in-backward", "", training, rare,
           "each parameter is updated when its gradient is ready",
           "Highwater's choice: optimizer.step() after the backward",
           flag<OfOptimizer<&Optimizer::in_backward>>()},
    Option{"optimizer-rank", "N", training, rare, "of the projections of GaLore and APOLLO",
           "transformers 5.23 trainer_optimizer.py _get_galore_optimizer: 128",
           whole<OfOptimizer<&Optimizer::rank>>(1, kMostRank)},
    Option{"weight-decay", "X", training, rare,
           "weight decay of optimizers that add it to copies of the gradients",
           "torch 2.15 optim/sgd.py, adam.py, rmsprop.py: weight_decay=0",
           real<OfOptimizer<&Optimizer::weight_decay>>(0, 1e3, "from 0 to 1000")}
        .and_more("SGD, Adam, RMSprop and others; AdamW scales the parameters in place"),
    Option{"grad-clip", "NORM", training, common, "clip the gradient norm",
           "Highwater's choice: a plain loop; transformers' Trainer clips at 1",
           optional_real<Path<&TrainingPlan::grad_clip>, Absent::null>(1e-12, 1e12,
                                                                       "above 0, or none")},
    Option{"grad-accum", "N", training, common, "micro-batches per step",
           "transformers 5.12 training_args.py gradient_accumulation_steps",
           whole<Path<&TrainingPlan::grad_accum>>(1, kMostSteps)},
    Option{"steps", "N", training, common, "training steps",
           "Highwater's choice: the first has no optimizer states, DDP's second new buckets",
           whole<Path<&TrainingPlan::steps>>(1, kMostSteps)},
    Option{"set-to-none", "", training, rare, "zero_grad frees the gradients",
           "torch 2.6 optim/optimizer.py zero_grad", flag<Path<&TrainingPlan::set_to_none>>()},
    Option{"zero-grad-at", "W", training, rare, "when a step zeroes its gradients",
           "transformers 5.12 trainer.py: after optimizer.step()",
           word<Path<&TrainingPlan::zero_grad_at>, kZeroGradAt>()},
    Option{"empty-cache-every-step", "", training, rare,
           "torch.cuda.empty_cache() at the end of each step",
           "transformers 5.12 training_args.py torch_empty_cache_steps: None",
           flag<Path<&TrainingPlan::empty_cache_every_step>>()},
    Option{"ema", "", training, rare,
           "a copy of the model beside it, averaged after each step (AveragedModel, a deepcopy)",
           "Highwater's choice: none", flag<Path<&TrainingPlan::ema>>()}
        .and_more("parameters and buffers once more, in their types; a reference or a target that "
                  "is copied from the model takes as much, and its own forward passes in addition"),
    Option{"eval-batch", "N", training, rare,
           "sequences evaluated at once between training steps; 0: no evaluation",
           "transformers 5.24 training_args.py eval_strategy: no",
           whole<OfEvaluation<&Evaluation::batch>>(0, kMostEvaluated)}
        .and_more("Trainer's evaluation_loop, or a plain loop under no_grad() with the model in "
                  "eval(); its per_device_eval_batch_size is 8 unless it is given"),
    Option{"eval-batches", "N", training, rare, "batches of each evaluation",
           "Highwater's choice: two, of which the second shows what is kept of the first",
           whole<OfEvaluation<&Evaluation::batches>>(1, kMostSteps)},
    Option{"eval-steps", "N", training, rare, "training steps before each evaluation",
           "Highwater's choice: the second step is the first with optimizer states",
           whole<OfEvaluation<&Evaluation::every>>(1, kMostSteps)}
        .and_more("a run of fewer steps evaluates after its last"),
    Option{"eval-outputs", "W", training, rare, "what is gathered of each batch besides its loss",
           "transformers 5.24 trainer.py evaluate: the loss alone without compute_metrics",
           word<OfEvaluation<&Evaluation::outputs>, kEvalOutputs>()}
        .and_more("logits: compute_metrics is given all of them; argmax: "
                  "preprocess_logits_for_metrics takes the likeliest tokens, as run_clm.py does"),
    Option{
        "eval-accumulation-steps", "N", training, rare,
        "batches after which what was gathered goes to the host",
        "transformers 5.24 training_args.py eval_accumulation_steps: None",
        optional_whole<OfEvaluation<&Evaluation::accumulation_steps>, Absent::null>(1, kMostSteps)}
        .with_default("at the end"),
    Option{"eval-concat", "", training, rare, "gathered tensors are joined batch by batch",
           "transformers 5.24 training_args.py eval_do_concat_batches",
           flag<OfEvaluation<&Evaluation::concatenates>>()},
    Option{"lora", "R", training, common,
           "train LoRA adapters of this rank, with the model frozen; 0: none",
           "Highwater's choice: the whole model is trained", whole<OfLora<&Lora::rank>>(0, 65536)},
    Option{"lora-dropout", "X", training, rare, "dropout before the adapters",
           "peft tuners/lora/config.py lora_dropout",
           real<OfLora<&Lora::dropout>>(0, 1, "from 0 to 1")},
    Option{"lora-targets", "A,B", training, rare, "module names that get adapters",
           "peft utils/constants.py TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING",
           kLoraTargets}
        .with_default("those of the model's family"),
    Option{"dora", "", training, rare, "adapters with a magnitude for each output (DoRA)",
           "peft 0.21 tuners/lora/config.py use_dora", flag<OfLora<&Lora::dora>>()},
    Option{"peft", "FILE", training, rare,
           "adapters of any kind, as PEFT's adapter_config.json says them; with --engine torch",
           "Highwater's choice: the whole model is trained", kPeft}
        .and_more("the file, its folder, or its text; LoRA that --lora, --lora-targets, "
                  "--lora-dropout and --dora can say is these options")
        .with_default("none"),
    Option{"quantize", "F", training, common, "frozen layers in 4 or 8 bits",
           "Highwater's choice: weights as the precision says",
           word<OfQuantization<&Quantization::weights>, kWeightFormats>()}
        .and_more("nf4, fp4: QLoRA; int8: LLM.int8(); int8-weight-only: torchao's. Weights are "
                  "quantised one by one while from_pretrained() loads them; torchtune's nf4 is "
                  "torchao's, made with its layers"),
    Option{"double-quant", "", training, rare, "scales of 4-bit blocks in 8 bits",
           "transformers 5.23 utils/quantization_config.py bnb_4bit_use_double_quant",
           flag<OfQuantization<&Quantization::double_quant>>()},
    Option{"quant-compute-dtype", "T", training, rare, "what 4-bit layers compute in",
           "Highwater's choice: that of the precision, as recipes say it; bnb_4bit_compute_dtype "
           "is float32 unless it is given",
           word<OfQuantization<&Quantization::compute_dtype>, kQuantComputeDTypes>()},
    Option{"quant-storage", "T", training, rare, "type of the blocks that hold 4-bit weights",
           "transformers 5.23 utils/quantization_config.py bnb_4bit_quant_storage",
           word<OfQuantization<&Quantization::storage>, kQuantStorages>()}
        .and_more("FSDP shards them together with weights of the same type"),
    Option{"prepare-kbit", "", training, rare,
           "prepare_model_for_kbit_training(): other weights in fp32",
           "peft 0.21 utils/other.py, as in PEFT's and transformers' guides",
           flag<OfQuantization<&Quantization::prepares_training>>()},
    Option{"reference-model", "", training, rare,
           "a frozen copy of the model answers beside it; with TRL's loops",
           "Highwater's choice: a plain loop; trl 1.16 trainer/grpo_config.py beta: 0",
           flag<Path<&TrainingPlan::reference_model>>()},
    Option{"teacher", "NAME|FILE", training, rare,
           "a frozen model beside it, in its type, that is given the same batches under no_grad(); "
           "with --engine torch",
           "Highwater's choice: none", kTeacher}
        .and_more("its outputs live until the step's end, and the loss is the model's own; a "
                  "distance between both is a tensor or two of their outputs' size more")
        .with_default("none"),
    Option{"freeze", "A,B", training, rare,
           "modules that are not trained (requires_grad_(False)), by the last parts of their names",
           "Highwater's choice: the whole model is trained", kFrozen}
        .and_more("all-but:A,B freezes everything else, as scripts do that train a new head alone")
        .with_default("none"),
    Option{"compile", "", training, rare, "torch.compile; with --engine torch",
           "Highwater's choice: torch runs eagerly unless it is told",
           flag<Path<&TrainingPlan::compile>>()}
        .and_more("the whole model, with fully_shard each block; Inductor's own requests while it "
                  "compiles, in the first step, are part of the run"),
    Option{"float8", "", training, rare, "torchao's float8 products",
           "Highwater's choice: torch has none unless it is told",
           flag<Path<&TrainingPlan::float8>>()}
        .and_more("convert_to_float8_training() of all linear layers but the head, with dynamic "
                  "scales for whole tensors"),
};

std::vector<Option> all_rows() {
  std::vector<Option> rows{optimizer_row()};
  rows.insert(rows.end(), kTrainingRows.begin(), kTrainingRows.end());
  return rows;
}

}  // namespace

std::span<const Option> training_options() {
  static const std::vector<Option> kRows = all_rows();
  return kRows;
}

}  // namespace highwater::option_sections
