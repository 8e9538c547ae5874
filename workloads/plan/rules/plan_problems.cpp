#include "workloads/plan/rules/plan_problems.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <string_view>

#include <fmt/args.h>
#include <fmt/format.h>

#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/optimizer_table.hpp"
#include "workloads/plan/rules/tables.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

using plan_rules::Part;
using plan_rules::PlanFacts;
using plan_rules::Rule;

std::int64_t longest_sequence(const TrainingPlan& plan) {
  return plan.seq.empty() ? 0 : *std::ranges::max_element(plan.seq);
}

std::string_view precision_word(Precision precision) {
  constexpr std::array<std::string_view, 6> kWords{"fp32",     "bf16",     "fp16",
                                                   "amp-bf16", "amp-fp16", "bf16+amp"};
  return kWords[static_cast<std::size_t>(precision)];
}

std::string_view init_word(ModelInit init) {
  constexpr std::array<std::string_view, 5> kWords{"device", "cpu", "meta", "pretrained-half",
                                                   "pretrained"};
  return kWords[static_cast<std::size_t>(init)];
}

std::string_view attention_word(Attention attention) {
  constexpr std::array<std::string_view, 7> kWords{
      "eager", "sdpa", "sdpa-flash", "sdpa-efficient", "sdpa-math", "sdpa-cudnn", "flex"};
  return kWords[static_cast<std::size_t>(attention)];
}

std::string_view offload_word(Offload offload) {
  constexpr std::array<std::string_view, 5> kWords{"none", "optimizer", "params", "both",
                                                   "activations"};
  return kWords[static_cast<std::size_t>(offload)];
}

std::string_view model_code_word(ModelCode code) {
  constexpr std::array<std::string_view, 4> kWords{"hf", "torchtitan", "torchtune", "megatron"};
  return kWords[static_cast<std::size_t>(code)];
}

std::string_view loss_word(LossKind kind) {
  constexpr std::array<std::string_view, 7> kWords{"hf",    "shift", "flat",       "chunked",
                                                   "fused", "trl",   "contrastive"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::string_view framework_word(Framework framework) {
  constexpr std::array<std::string_view, 19> kWords{
      "torch",      "hf",        "trainer",          "trl-sft",
      "trl-dpo",    "trl-kto",   "trl-orpo",         "trl-reward",
      "trl-grpo",   "trl-rloo",  "accelerate",       "accelerate-fsdp2",
      "torchtitan", "torchtune", "lightning",        "deepspeed",
      "megatron",   "nemo",      "colossalai-gemini"};
  return kWords[static_cast<std::size_t>(framework)];
}

std::string_view dp_kind_word(DataParallel kind) {
  constexpr std::array<std::string_view, 7> kWords{"ddp",   "zero0", "zero1", "zero2",
                                                   "zero3", "fsdp1", "fsdp2"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::string_view tp_kind_word(TensorParallel kind) {
  constexpr std::array<std::string_view, 6> kWords{"megatron", "colossalai", "dtensor",
                                                   "2d",       "2.5d",       "3d"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::string_view cp_kind_word(ContextParallel kind) {
  constexpr std::array<std::string_view, 4> kWords{"ring", "ulysses", "distributed-attention",
                                                   "ring-self-attention"};
  return kWords[static_cast<std::size_t>(kind)];
}

/// What the plan has of a rule's parts, and how a remedy calls it.
struct Asked {
  std::string words;
  std::string_view pronoun = "it";
};

std::string fill_in(std::string_view message, const PlanFacts& f, const Asked& asked) {
  const TrainingPlan& plan = *f.plan;
  return fmt::format(
      fmt::runtime(message), fmt::arg("asked", asked.words), fmt::arg("them", asked.pronoun),
      fmt::arg("offload", offload_word(plan.parallel.offload)),
      fmt::arg("model_code", model_code_word(plan.model_code)),
      fmt::arg("loss", loss_word(plan.loss.kind)),
      fmt::arg("framework", framework_word(plan.framework)),
      fmt::arg("dp_kind", dp_kind_word(plan.parallel.dp_kind)),
      fmt::arg("tp_kind", tp_kind_word(plan.parallel.tp_kind)),
      fmt::arg("optimizer", word_of(plan.optimizer.kind)), fmt::arg("batch", plan.batch),
      fmt::arg("seq", f.longest), fmt::arg("target", plan.target_seq.value_or(0)),
      fmt::arg("steps", plan.steps), fmt::arg("accum", plan.grad_accum),
      fmt::arg("lengths", plan.seq.size()), fmt::arg("n", plan.checkpoint.n),
      fmt::arg("model", plan.model.name), fmt::arg("family", family_name(plan.model)),
      fmt::arg("layers", f.shape.layers), fmt::arg("positions", f.shape.max_positions.value_or(0)),
      fmt::arg("head_dim", f.shape.head_dim), fmt::arg("heads", f.shape.heads),
      fmt::arg("experts", f.shape.experts), fmt::arg("shares", plan.moe_load.shares.size()),
      fmt::arg("dp", plan.parallel.dp), fmt::arg("replicas", plan.parallel.fsdp.replicas),
      fmt::arg("tp", plan.parallel.tp), fmt::arg("pp", plan.parallel.pp),
      fmt::arg("ep", plan.parallel.ep), fmt::arg("etp", expert_tp(plan.parallel)),
      fmt::arg("cp", plan.parallel.cp), fmt::arg("cp_kind", cp_kind_word(plan.parallel.cp_kind)),
      fmt::arg("gpu", plan.gpu.name),
      fmt::arg("capability", fmt::format("{}.{}", plan.gpu.major, plan.gpu.minor)),
      fmt::arg("precision", precision_word(plan.precision)), fmt::arg("init", init_word(plan.init)),
      fmt::arg("attention", attention_word(plan.attention)));
}

std::string listed(const std::vector<std::string>& words) {
  std::string list;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool is_last = i + 1 == words.size();
    list += (i == 0 ? "" : is_last ? " and " : ", ") + words[i];
  }
  return list;
}

Asked asked_of(std::span<const Part> parts, const PlanFacts& facts) {
  std::vector<std::string> words;
  for (const Part& part : parts) {
    if (part.is_in(facts)) {
      words.push_back(fill_in(part.words, facts, {}));
    }
  }
  return {.words = listed(words), .pronoun = words.size() > 1 ? "them" : "it"};
}

void check(std::span<const Rule> rules, const PlanFacts& facts,
           std::vector<std::string>& problems) {
  for (const Rule& rule : rules) {
    if (!rule.is_broken(facts)) {
      continue;
    }
    const Asked asked = asked_of(rule.parts, facts);
    if (rule.parts.empty() || !asked.words.empty()) {
      problems.push_back(fill_in(rule.message, facts, asked));
    }
  }
}

std::string_view subject_of(std::string_view problem) {
  return problem.substr(0, problem.find_first_of(" :,"));
}

/// Of what is wrong with one option, the first: the others may be gone when that is mended.
std::vector<std::string> first_of_each_option(const std::vector<std::string>& problems) {
  std::vector<std::string> first;
  for (const std::string& problem : problems) {
    const bool is_new = std::ranges::none_of(
        first, [&](const std::string& other) { return subject_of(other) == subject_of(problem); });
    if (is_new) {
      first.push_back(problem);
    }
  }
  return first;
}

/// What the model's Python code cannot do of its configuration.
std::vector<std::string> problems_of_code(const TrainingPlan& plan) {
  const Family& family = plan.model.config.family();
  const bool is_torchtune = plan.model_code == ModelCode::torchtune;
  const auto find = is_torchtune ? family.torchtune_problems : family.torchtitan_problems;
  const bool is_asked = is_torchtune || plan.model_code == ModelCode::torchtitan;
  return is_asked && find != nullptr ? find(plan.model.config.value()) : std::vector<std::string>{};
}

void append(std::vector<std::string> more, std::vector<std::string>& problems) {
  std::ranges::move(more, std::back_inserter(problems));
}

}  // namespace

std::vector<std::string> plan_problems(const TrainingPlan& plan) {
  std::vector<std::string> problems = model_problems(plan.model);
  // An invalid shape would only cause follow-up errors.
  const bool model_is_sound = problems.empty();
  const PlanFacts facts{&plan, model_is_sound ? shape_of(plan.model) : ModelShape{},
                        longest_sequence(plan)};
  if (model_is_sound) {
    append(problems_of_code(plan), problems);
  }
  check(plan_rules::range_rules(), facts, problems);
  if (is_other(plan.model.config)) {
    return problems;  // PyTorch itself knows the rest
  }
  if (model_is_sound) {
    check(plan_rules::model_rules(), facts, problems);
    check(plan_rules::torchtune_rules(), facts, problems);
  }
  check(plan_rules::attention_rules(), facts, problems);
  check(plan_rules::checkpoint_rules(), facts, problems);
  check(plan_rules::evaluation_rules(), facts, problems);
  check(plan_rules::optimizer_rules(), facts, problems);
  check(plan_rules::loss_and_lora_rules(), facts, problems);
  check(plan_rules::quantization_rules(), facts, problems);
  check(plan_rules::float8_rules(), facts, problems);
  check(plan_rules::megatron_rules(), facts, problems);
  check(plan_rules::parallel_rules(), facts, problems);
  check(plan_rules::ddp_rules(), facts, problems);
  check(plan_rules::pipeline_rules(), facts, problems);
  check(plan_rules::dtensor_rules(), facts, problems);
  check(plan_rules::tensor_grid_rules(), facts, problems);
  check(plan_rules::context_parallel_rules(), facts, problems);
  check(plan_rules::fsdp_rules(), facts, problems);
  check(plan_rules::fsdp1_rules(), facts, problems);
  check(plan_rules::gemini_rules(), facts, problems);
  check(plan_rules::offload_rules(), facts, problems);
  if (plan_rules::sizes_are_sound(plan.parallel)) {
    check(plan_rules::mixture_rules(), facts, problems);
  }
  return first_of_each_option(problems);
}

std::vector<std::string> generator_gaps(const TrainingPlan& plan) {
  std::vector<std::string> gaps;
  const PlanFacts facts{&plan, ModelShape{}, longest_sequence(plan)};
  check(plan_rules::gap_rules(), facts, gaps);
  check(plan_rules::evaluation_gaps(), facts, gaps);
  check(plan_rules::quantization_gaps(), facts, gaps);
  check(plan_rules::float8_gaps(), facts, gaps);
  check(plan_rules::pipeline_gaps(), facts, gaps);
  check(plan_rules::torchtune_gaps(), facts, gaps);
  check(plan_rules::tensor_grid_gaps(), facts, gaps);
  check(plan_rules::context_parallel_gaps(), facts, gaps);
  check(plan_rules::mixture_gaps(), facts, gaps);
  return first_of_each_option(gaps);
}

bool supports_sdpa(const TrainingPlan& plan) {
  return plan.model_code == ModelCode::torchtitan || plan.model_code == ModelCode::torchtune ||
         plan_rules::has_sdpa(plan);
}

}  // namespace highwater
