// The generator as a whole: invariants for any combination of axes, repetition of steps, and what
// moves which category.
#include "workloads/training/generate.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/recorded_releases.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/model/families/families.hpp"
#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/model/parameter_count.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/parameters.hpp"

using namespace highwater;

namespace {

ModelSpec gpt2_of_layers(std::int64_t layers = 2) {
  Gpt2Config config;
  config.vocab_size = 512;
  config.n_embd = 128;
  config.n_head = 4;
  config.n_layer = layers;
  config.n_positions = 256;
  return {"small-gpt2", "test", config};
}

ModelSpec small_llama(std::int64_t layers = 2) {
  LlamaConfig config;
  config.vocab_size = 512;
  config.hidden_size = 128;
  config.intermediate_size = 256;
  config.num_hidden_layers = layers;
  config.num_attention_heads = 4;
  config.num_key_value_heads = 2;
  return {"small-llama", "test", config};
}

TrainingPlan plan_for(ModelSpec model) {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model = std::move(model);
  plan.batch = 2;
  plan.seq = {64};
  plan.attention = supports_sdpa(plan) ? Attention::sdpa : Attention::eager;
  return plan;
}

using Change = std::function<void(TrainingPlan&)>;

struct Axis {
  const char* name;
  std::vector<Change> settings;
};

std::vector<Axis> axes() {
  using P = TrainingPlan;
  std::vector<Axis> list;
  list.push_back({"model", {[](P& p) { p.model = small_llama(); }}});
  list.push_back(
      {"precision",
       {[](P& p) { p.precision = Precision::bf16; }, [](P& p) { p.precision = Precision::fp16; },
        [](P& p) { p.precision = Precision::amp_bf16; },
        [](P& p) { p.precision = Precision::amp_fp16; }}});
  list.push_back({"attention",
                  {[](P& p) { p.attention = Attention::eager; },
                   [](P& p) { p.attention = Attention::sdpa_math; }}});
  list.push_back({"checkpoint",
                  {[](P& p) {
                     p.checkpoint = {CheckpointKind::full, 1, false};
                   },
                   [](P& p) {
                     p.checkpoint = {CheckpointKind::full, 1, true};
                   },
                   [](P& p) {
                     p.checkpoint = {CheckpointKind::every_n, 2, false};
                   },
                   [](P& p) {
                     p.checkpoint = {CheckpointKind::selective_op, 1, false};
                   }}});
  std::vector<Change> optimizers;
  for (const auto kind :
       {OptimizerKind::sgd, OptimizerKind::sgd_momentum, OptimizerKind::adam,
        OptimizerKind::rmsprop, OptimizerKind::adagrad, OptimizerKind::adafactor,
        OptimizerKind::adamw_8bit, OptimizerKind::muon, OptimizerKind::galore_adamw,
        OptimizerKind::galore_adamw_8bit, OptimizerKind::galore_adafactor,
        OptimizerKind::apollo_adamw, OptimizerKind::adafactor_hf, OptimizerKind::came,
        OptimizerKind::schedule_free_adamw, OptimizerKind::lomo, OptimizerKind::adalomo}) {
    optimizers.push_back([kind](P& p) { p.optimizer.kind = kind; });
  }
  optimizers.push_back([](P& p) { p.optimizer.impl = OptimizerImpl::fused; });
  optimizers.push_back([](P& p) { p.optimizer.impl = OptimizerImpl::loop; });
  list.push_back({"optimizer", optimizers});
  list.push_back({"param_groups", {[](P& p) { p.optimizer.param_groups = 2; }}});
  list.push_back({"accumulation", {[](P& p) { p.grad_accum = 2; }}});
  list.push_back({"clip", {[](P& p) { p.grad_clip = 1.0; }}});
  list.push_back({"set_to_none", {[](P& p) { p.set_to_none = false; }}});
  list.push_back({"zero_grad_at", {[](P& p) { p.zero_grad_at = ZeroGradAt::start; }}});
  list.push_back(
      {"loss",
       {[](P& p) { p.loss.kind = LossKind::shift; }, [](P& p) { p.loss.kind = LossKind::flat; }}});
  list.push_back({"keep_logits", {[](P& p) { p.keep_logits = true; }}});
  list.push_back({"use_cache", {[](P& p) { p.use_cache = true; }}});
  list.push_back({"attention_mask", {[](P& p) { p.attention_mask = AttentionMask::full; }}});
  list.push_back({"dropout", {[](P& p) { p.dropout = 0.0; }}});
  list.push_back({"init", {[](P& p) { p.init = ModelInit::cpu; }}});
  return list;
}

/// A request of a step: an allocation of so many bytes, or a free of that many. Blocks of the same
/// step are told apart by their number in it, older ones by how old they are: step 0 makes some
/// that later steps do not, so numbers in it are not comparable.
struct StepRequest {
  std::int64_t bytes = 0;
  bool is_free = false;
  std::uint64_t steps_ago = 0;
  std::size_t index = 0;

  bool operator==(const StepRequest&) const = default;
};

std::vector<StepRequest> requests_of_step(const RequestTrace& trace, std::uint64_t wanted) {
  struct Birth {
    std::int64_t bytes;
    std::uint64_t step;  ///< + 1; 0: before the first step
    std::size_t index;
  };

  std::vector<StepRequest> requests;
  std::vector<Birth> born;  // by allocation
  std::uint64_t step = 0;
  std::size_t index = 0;
  for (const auto& event : trace.events) {
    if (event.kind == EventKind::step) {
      step = event.value + 1;
      index = 0;
    } else if (event.kind == EventKind::alloc) {
      born.push_back({static_cast<std::int64_t>(event.value), step, index++});
      if (step == wanted + 1) {
        requests.push_back({.bytes = born.back().bytes});
      }
    } else if (event.kind == EventKind::free && step == wanted + 1) {
      const Birth& birth = born[event.allocation.index()];
      const auto age = step - birth.step;
      requests.push_back({.bytes = birth.bytes,
                          .is_free = true,
                          .steps_ago = age,
                          .index = age == 0 ? birth.index : 0});
    }
  }
  return requests;
}

/// Bytes alive at the end of each step.
std::vector<std::int64_t> live_at_step_ends(const RequestTrace& trace) {
  std::vector<std::int64_t> ends;
  std::map<std::uint32_t, std::int64_t> live;
  std::int64_t bytes = 0;
  for (const auto& event : trace.events) {
    if (event.kind == EventKind::step) {
      ends.push_back(bytes);
    } else if (event.kind == EventKind::alloc) {
      const bool is_new =
          live.emplace(event.allocation.value(), static_cast<std::int64_t>(event.value)).second;
      REQUIRE(is_new);
      bytes += static_cast<std::int64_t>(event.value);
    } else if (event.kind == EventKind::free) {
      const auto found = live.find(event.allocation.value());
      REQUIRE(found != live.end());
      bytes -= found->second;
      live.erase(found);
    }
  }
  ends.push_back(bytes);
  return ends;
}

void check_invariants(const TrainingPlan& plan) {
  if (!plan_problems(plan).empty()) {
    return;  // a combination that PyTorch refuses
  }
  const RequestTrace trace = generate(plan);
  const auto ends = live_at_step_ends(trace);
  CHECK(ends[2] == ends[3]);  // nothing leaks from step to step
  CHECK((requests_of_step(trace, 1) == requests_of_step(trace, 2)));
}

using ByCategory = std::map<Category, std::int64_t>;

/// Live bytes by category at the moment of the highest total.
ByCategory at_peak(const TrainingPlan& plan) {
  const RequestTrace trace = generate(plan);
  std::map<std::uint32_t, std::pair<Category, std::int64_t>> live;
  ByCategory now;
  ByCategory best;
  std::int64_t total = 0;
  std::int64_t highest = 0;
  for (const auto& event : trace.events) {
    if (event.kind == EventKind::alloc) {
      const auto bytes = static_cast<std::int64_t>(event.value);
      live[event.allocation.value()] = {event.category, bytes};
      now[event.category] += bytes;
      total += bytes;
      if (total > highest) {
        highest = total;
        best = now;
      }
    } else if (event.kind == EventKind::free) {
      const auto [category, bytes] = live.at(event.allocation.value());
      now[category] -= bytes;
      total -= bytes;
    }
  }
  return best;
}

/// Live bytes of saved activations when the forward pass of the last step ends.
std::int64_t activations_after_forward(const TrainingPlan& plan) {
  const RequestTrace trace = generate(plan);
  std::map<std::uint32_t, std::int64_t> live;
  std::int64_t bytes = 0;
  std::int64_t result = 0;
  for (const auto& event : trace.events) {
    if (event.kind == EventKind::alloc && event.category == Category::activation) {
      live[event.allocation.value()] = static_cast<std::int64_t>(event.value);
      bytes += static_cast<std::int64_t>(event.value);
    } else if (event.kind == EventKind::free && live.count(event.allocation.value()) != 0) {
      bytes -= live.at(event.allocation.value());
    } else if (event.kind == EventKind::phase && trace.tables.strings[event.text()] == "backward") {
      result = bytes;
    }
  }
  return result;
}

/// Bytes of all states that an optimizer makes in a run.
std::int64_t states_made(const TrainingPlan& plan) {
  std::int64_t bytes = 0;
  for (const auto& event : generate(plan).events) {
    const bool is_state =
        event.kind == EventKind::alloc && event.category == Category::optimizer_state;
    bytes += is_state ? static_cast<std::int64_t>(event.value) : 0;
  }
  return bytes;
}

}  // namespace

TEST_CASE("generate: Trainer changes no states of Adafactor", "[workloads]") {
  TrainingPlan plan = plan_for(gpt2_of_layers());
  plan.optimizer.kind = OptimizerKind::adafactor_hf;
  TrainingPlan trainer = plan;
  trainer.framework = Framework::trainer;
  CHECK(states_made(trainer) == states_made(plan));
}

// transformers 5.24, trainer.py _inner_training_loop begins with accelerator.free_memory().
TEST_CASE("generate: Trainer empties the cache once, before the first step", "[workloads]") {
  TrainingPlan plan = plan_for(gpt2_of_layers());
  const auto emptied = [&](Framework framework) {
    plan.framework = framework;
    std::string when;
    for (const auto& event : generate(plan).events) {
      when += event.kind == EventKind::empty_cache ? "c" : event.kind == EventKind::step ? "s" : "";
    }
    return when;
  };
  CHECK(emptied(Framework::trainer) == "csss");
  CHECK(emptied(Framework::hf) == "sss");
}

// transformers 5.24, trainer_optimizer.py _setup_low_rank_optimizer takes module.weight alone.
TEST_CASE("generate: GaLore projects no biases", "[workloads]") {
  LlamaConfig config;
  config.vocab_size = 512;
  config.hidden_size = 128;
  config.intermediate_size = 256;
  config.num_hidden_layers = 1;
  config.num_attention_heads = 4;
  config.num_key_value_heads = 2;
  TrainingPlan plain = plan_for({"plain", "test", config});
  config.attention_bias = true;
  TrainingPlan biased = plan_for({"biased", "test", config});
  const auto states_of_biases = [&](OptimizerKind kind) {
    plain.optimizer.kind = kind;
    biased.optimizer.kind = kind;
    return states_made(biased) - states_made(plain);
  };
  constexpr std::int64_t kBiases = 128 + 64 + 64 + 128;
  CHECK(states_of_biases(OptimizerKind::galore_adamw) == 2 * 4 * kBiases);
  CHECK(states_of_biases(OptimizerKind::galore_adafactor) == 4 * kBiases);
}

TEST_CASE("generate: any two axes together keep the invariants", "[workloads][property][long]") {
  const auto list = axes();
  for (std::size_t i = 0; i < list.size(); ++i) {
    for (const auto& first : list[i].settings) {
      for (std::size_t j = i + 1; j < list.size(); ++j) {
        for (const auto& second : list[j].settings) {
          TrainingPlan plan = plan_for(gpt2_of_layers());
          first(plan);
          second(plan);
          INFO(list[i].name << " with " << list[j].name);
          check_invariants(plan);
        }
      }
    }
  }
}

TEST_CASE("generate: the same plan gives the same trace", "[workloads]") {
  const auto plan = plan_for(small_llama());
  const auto first = generate(plan);
  const auto second = generate(plan);
  REQUIRE(first.events.size() == second.events.size());
  for (std::size_t i = 0; i < first.events.size(); ++i) {
    REQUIRE(first.events[i] == second.events[i]);
  }
}

TEST_CASE("generate: every preset registers exactly its parameters", "[workloads]") {
  for (const auto& spec : model_presets()) {
    if (is_other(spec.config)) {
      continue;
    }
    std::int64_t elements = 0;
    for (const auto& parameter : model_parameters(spec)) {
      elements += parameter.elements;
    }
    CAPTURE(spec.name);
    CHECK(elements == parameter_count(spec.config).trainable());
  }
}

TEST_CASE("generate: each parameter is one block of its size", "[workloads]") {
  for (const std::string name : {"opt-350m", "bloom-560m", "qwen2.5-0.5b", "tiny_starcoder_py"}) {
    TrainingPlan plan = plan_for(model_preset(name));
    plan.steps = 1;
    plan.optimizer.kind = OptimizerKind::none;
    std::multiset<std::int64_t> wanted;
    for (const auto& parameter : model_parameters(plan.model)) {
      wanted.insert(parameter.elements * 4);
    }
    std::multiset<std::int64_t> made;
    for (const auto& event : generate(plan).events) {
      if (event.kind == EventKind::alloc && event.category == Category::parameter) {
        made.insert(static_cast<std::int64_t>(event.value));
      }
    }
    CAPTURE(name);
    // A tied head is built before it is dropped, so it may appear once more.
    CHECK(std::ranges::includes(made, wanted));
    CHECK(made.size() <= wanted.size() + 1);
  }
}

TEST_CASE("generate: batch moves activations and inputs, not parameters", "[workloads][property]") {
  for (const auto& model : {gpt2_of_layers(), small_llama()}) {
    TrainingPlan one = plan_for(model);
    TrainingPlan two = one;
    two.batch = 2 * one.batch;
    CHECK(at_peak(one)[Category::parameter] == at_peak(two)[Category::parameter]);
    CHECK(at_peak(two)[Category::input] == 2 * at_peak(one)[Category::input]);
    const auto before = activations_after_forward(one);
    const auto after = activations_after_forward(two);
    CHECK(after > before + before * 9 / 10);
    CHECK(after <= 2 * before);
  }
}

TEST_CASE("generate: sequence length moves eager attention with its square", "[workloads]") {
  TrainingPlan plan = plan_for(small_llama());
  const auto growth = [&](Attention attention) {
    plan.attention = attention;
    plan.precision = Precision::bf16;
    plan.seq = {128};
    const auto shorter = activations_after_forward(plan);
    plan.seq = {256};
    return static_cast<double>(activations_after_forward(plan)) / static_cast<double>(shorter);
  };
  CHECK(growth(Attention::sdpa) == Approx(2.0).margin(0.02));
  CHECK(growth(Attention::eager) > 2.3);
}

TEST_CASE("generate: each layer adds the same activations and parameters", "[workloads]") {
  const auto activations = [](std::int64_t layers) {
    return activations_after_forward(plan_for(small_llama(layers)));
  };
  CHECK(activations(4) - activations(3) == activations(3) - activations(2));
  const auto parameters = [](std::int64_t layers) {
    return at_peak(plan_for(gpt2_of_layers(layers)))[Category::parameter];
  };
  CHECK(parameters(4) - parameters(3) == parameters(3) - parameters(2));
}

TEST_CASE("generate: half precision halves parameters, gradients and states", "[workloads]") {
  TrainingPlan full = plan_for(gpt2_of_layers());
  TrainingPlan half = full;
  half.precision = Precision::bf16;
  auto wide = at_peak(full);
  auto narrow = at_peak(half);
  for (const auto category : {Category::parameter, Category::gradient, Category::optimizer_state}) {
    CHECK(wide[category] == 2 * narrow[category]);
  }
}

TEST_CASE("generate: checkpointing keeps fewer activations, every other block in between",
          "[workloads]") {
  TrainingPlan plan = plan_for(small_llama(4));
  const auto none = activations_after_forward(plan);
  plan.checkpoint = {CheckpointKind::every_n, 2, false};
  const auto some = activations_after_forward(plan);
  plan.checkpoint = {CheckpointKind::full, 1, false};
  const auto all = activations_after_forward(plan);
  CHECK(all < some);
  CHECK(some < none);
  plan.checkpoint = {CheckpointKind::every_n, 1, false};
  CHECK(activations_after_forward(plan) == all);
}

TEST_CASE("generate: an absurd plan neither overflows nor takes long", "[workloads]") {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model = model_preset("llama-3.1-405b");
  plan.seq = {1'000'000};
  plan.precision = Precision::bf16;
  plan.steps = 1;
  const auto trace = generate(plan);
  CHECK(trace.events.size() > 10'000);
}

namespace {

/// Activations that one more layer keeps.
std::int64_t saved_per_layer(ModelSpec model, const Change& with_layers_and_plan) {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model = std::move(model);
  plan.steps = 1;
  with_layers_and_plan(plan);
  return activations_after_forward(plan);
}

}  // namespace

TEST_CASE("generate: Llama-3-8B at 8192 tokens keeps the worked size per layer",
          "[workloads][closed_form]") {
  const auto saved = [](std::int64_t layers) {
    LlamaConfig config = model_preset("llama-3-8b").config.as<LlamaConfig>();
    config.num_hidden_layers = layers;
    return saved_per_layer({"llama", "test", config}, [](TrainingPlan& plan) {
      plan.seq = {8192};
      plan.precision = Precision::bf16;
    });
  };
  const std::int64_t x = 8192 * 4096;
  const std::int64_t k = 8192 * 1024;
  const std::int64_t f = 8192 * 14336;
  // Two norms in fp32 and bf16, query, keys and values, attention output, gate and its like, and
  // log-sum-exp and the norms' inverse roots in fp32.
  const std::int64_t expected =
      16 * x + 2 * x + 4 * k + 2 * x + 8 * f + 4 * 32 * 8192 + 2 * 4 * 8192;
  CHECK(saved(3) - saved(2) == expected);
}

TEST_CASE("generate: GPT-2 at batch 8 keeps the worked size per layer",
          "[workloads][closed_form]") {
  const auto saved = [](std::int64_t layers) {
    Gpt2Config config;
    config.n_layer = layers;
    return saved_per_layer({"gpt2", "test", config}, [](TrainingPlan& plan) {
      plan.batch = 8;
      plan.seq = {1024};
      plan.attention = Attention::eager;
    });
  };
  const std::int64_t x = 8 * 1024 * 768;
  const std::int64_t scores = std::int64_t{8} * 12 * 1024 * 1024;
  // 28 tensors like the input, two masks of dropout, scores, their dropout and its mask,
  // statistics.
  const std::int64_t expected = 28 * 4 * x + 2 * x + 9 * scores + 4 * 4 * 8 * 1024;
  CHECK(saved(3) - saved(2) == expected);
}
