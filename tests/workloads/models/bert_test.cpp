// BERT with its masked-language-model head, as recorded from transformers 5.12 on PyTorch 2.6:
// fp32, AdamW, three steps on an A100, the model made on the host and moved.
#include <catch2/catch.hpp>

#include "sim/replay/replay.hpp"
#include "traces/error.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"

using namespace highwater;

namespace {

TrainingPlan bert_plan(const char* model, std::int64_t batch) {
  TrainingPlan plan;
  plan.versions.torch = "2.6";
  plan.versions.transformers = "5.12";
  plan.model = model_preset(model);
  plan.gpu = *find_gpu("a100-80");
  plan.framework = Framework::torch;
  plan.init = ModelInit::cpu;
  plan.batch = batch;
  plan.seq = {32};
  plan.steps = 3;
  return plan;
}

Usage peak_of(const TrainingPlan& plan) {
  ReplayOptions options;
  options.version = &version_preset("2.6");
  return replay(generate(plan), options).peak;
}

}  // namespace

TEST_CASE("bert: peaks as recorded", "[workloads][models]") {
  struct Row {
    const char* model;
    std::int64_t batch;
    std::uint64_t requested, allocated, reserved;
  };

  const auto row = GENERATE(Row{"bert-base", 32, 2346462144, 2354748416, 2801795072},
                            Row{"bert-base", 64, 3361704896, 3368082432, 3510632448},
                            Row{"bert-large", 32, 6720553100, 6724610048, 6918504448},
                            Row{"bert-large", 64, 8159176640, 8160669696, 8596226048});
  CAPTURE(row.model, row.batch);
  const Usage peak = peak_of(bert_plan(row.model, row.batch));
  CHECK(peak.requested == Bytes{row.requested});
  CHECK(peak.allocated == Bytes{row.allocated});
  CHECK(peak.active == Bytes{row.allocated});
  CHECK(peak.reserved == Bytes{row.reserved});
}

TEST_CASE("bert: what only decoders have is refused", "[workloads][models]") {
  TrainingPlan plan = bert_plan("bert-base", 1);
  plan.loss.kind = LossKind::fused;
  CHECK_THROWS_AS(generate(plan), InputError);
  plan = bert_plan("bert-base", 1);
  plan.attention_mask = AttentionMask::padded;
  CHECK_THROWS_AS(generate(plan), InputError);
}
