// The head and the loss: which variant a release has, what each costs per logit, and the fused loss
// as it was recorded (liger-kernel 0.5.10 on PyTorch 2.6, its kernels left out).
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/tiny_llama.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/plan/version_profile.hpp"
#include "workloads/training/generate.hpp"

using namespace highwater;

namespace {

constexpr std::int64_t kVocab = 4000;
constexpr std::int64_t kBatch = 2;
constexpr std::int64_t kLength = 64;
constexpr std::int64_t kLogits = kBatch * kLength * kVocab;
constexpr std::int64_t kShifted = kBatch * (kLength - 1) * kVocab;
constexpr std::int64_t kSmall = 16 * 1024;  // labels and scalars

TrainingPlan llama_plan() {
  TrainingPlan plan = test::tiny_llama_plan(kVocab);
  plan.steps = 1;
  return plan;
}

TrainingPlan gpt2_plan() {
  Gpt2Config config;
  config.n_layer = 1;
  TrainingPlan plan = llama_plan();
  plan.model.config = config;
  plan.batch = 3;
  plan.seq = {100};
  return plan;
}

bool is_phase(const RequestTrace& trace, const Event& event, std::string_view name) {
  return event.kind == EventKind::phase && trace.tables.strings[event.text()] == name;
}

// Highest live bytes of the phase "loss" above those at its begin.
std::int64_t rise_in_loss(const TrainingPlan& plan) {
  const RequestTrace trace = generate(plan);
  std::map<std::uint64_t, std::int64_t> sizes;
  std::int64_t live = 0;
  std::int64_t highest = 0;
  bool is_inside = false;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::phase) {
      is_inside = is_phase(trace, event, "loss");
      live = is_inside ? 0 : live;
    } else if (event.kind == EventKind::alloc) {
      live += sizes[event.allocation.value()] = static_cast<std::int64_t>(event.value);
    } else if (event.kind == EventKind::free) {
      live -= sizes[event.allocation.value()];
    }
    highest = is_inside ? std::max(highest, live) : highest;
  }
  return highest;
}

std::vector<std::uint64_t> requests_of_loss(const TrainingPlan& plan) {
  const RequestTrace trace = generate(plan);
  std::vector<std::uint64_t> bytes;
  bool is_inside = false;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::phase) {
      is_inside = is_phase(trace, event, "loss");
    } else if (is_inside && event.kind == EventKind::alloc) {
      bytes.push_back(event.value);
    }
  }
  return bytes;
}

void check_about(std::int64_t measured, std::int64_t expected) {
  CAPTURE(measured, expected);
  CHECK(measured >= expected);
  CHECK(measured <= expected + kSmall);
}

VersionProfile profile_of(TrainingPlan plan, const std::string& transformers) {
  plan.versions.transformers = transformers;
  return version_profile(plan);
}

}  // namespace

TEST_CASE("a release of transformers has the loss that was read in it") {
  CHECK(profile_of(llama_plan(), "5.12") == VersionProfile{});
  CHECK(profile_of(llama_plan(), "4.49") == VersionProfile{});
  CHECK(profile_of(llama_plan(), "4.48").shift == LossShift::logits);
  CHECK(profile_of(llama_plan(), "4.44").upcast == LogitsUpcast::head);
  CHECK_FALSE(profile_of(llama_plan(), "4.44").slices_hidden_states);
  CHECK(profile_of(llama_plan(), "4.29").upcast == LogitsUpcast::never);
  CHECK_FALSE(profile_of(gpt2_plan(), "4.47").has_loss_function);
  CHECK(profile_of(gpt2_plan(), "4.47").upcast == LogitsUpcast::never);
  CHECK(profile_of(gpt2_plan(), "4.48").has_loss_function);
}

TEST_CASE("each loss costs its bytes per logit") {
  TrainingPlan plan = llama_plan();
  check_about(rise_in_loss(plan), 8 * kLogits);  // fp32 copy and log_softmax
  plan.versions.transformers = "4.48";
  check_about(rise_in_loss(plan), 4 * kLogits + 8 * kShifted);  // and a shifted copy
  plan.versions.transformers = "4.44";
  check_about(rise_in_loss(plan), 8 * kShifted);  // the fp32 copy was made by the head
  plan.versions.transformers = "4.29";
  check_about(rise_in_loss(plan), 4 * kShifted);  // all in bf16
}

TEST_CASE("a chunked loss makes one chunk of logits fp32 at a time") {
  TrainingPlan plan = llama_plan();
  plan.loss = {.kind = LossKind::chunked, .chunks = 8};
  check_about(rise_in_loss(plan), 4 * kLogits + kLogits / 2);
  plan.loss.chunks = 1;
  check_about(rise_in_loss(plan), 8 * kLogits);
}

TEST_CASE("the fused loss makes the recorded requests") {
  TrainingPlan plan = gpt2_plan();
  plan.loss.kind = LossKind::fused;
  const auto requests = requests_of_loss(plan);
  std::vector<std::uint64_t> expected{2424, 2400, 77194752, 460800, 1200, 300, 8, 2400};
  for (int i = 0; i < 37; ++i) {
    expected.insert(expected.end(), {804112, 12288});
  }
  expected.insert(expected.end(), {402056, 6144, 4});
  CHECK(requests == expected);
}

TEST_CASE("contradictory losses are refused") {
  TrainingPlan plan = llama_plan();
  CHECK(plan_problems(plan).empty());
  plan.loss.kind = LossKind::fused;
  CHECK(plan_problems(plan).empty());
  plan.keep_logits = true;
  CHECK_FALSE(plan_problems(plan).empty());
  plan.keep_logits = false;
  plan.model_code = ModelCode::torchtitan;
  CHECK_FALSE(plan_problems(plan).empty());
  plan.loss.kind = LossKind::hf;
  plan.model_code = ModelCode::hf;
  plan.init = ModelInit::pretrained_half;
  CHECK(plan_problems(plan).empty());
  plan.precision = Precision::fp32;
  CHECK_FALSE(plan_problems(plan).empty());
}
