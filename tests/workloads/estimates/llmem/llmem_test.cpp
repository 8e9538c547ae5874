// LLMem's inventory, chunks, printed formulas, published code and Algorithm 1: values worked out by
// hand for small models, and a handful of those derived for the paper's models.
#include "workloads/estimates/llmem/llmem.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/recorded_releases.hpp"
#include "workloads/estimates/llmem/llmem_code.hpp"
#include "workloads/estimates/llmem/llmem_selection.hpp"
#include "workloads/estimates/terms/estimate_inputs.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/llmem_chunks.hpp"
#include "workloads/plan/model/families/families.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;

namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr double kBase = 1100 * kMiB;
constexpr LlmemJob kFour{.m_base = kBase, .n = 4, .tp_n = 2};  // table 3's cluster
constexpr LlmemCluster kCluster{.capacity = 16384 * kMiB, .n = 4, .tp_n = 2};

LlmemInventory inventory_of(const ModelSpec& spec) {
  return llmem_inventory(spec, model_parameters(spec));
}

LlmemInventory inventory_of(std::string_view preset) {
  return inventory_of(model_preset(preset));
}

std::int64_t chunk_size(const LlmemInventory& inventory) {
  return gemini_chunk_size(llmem_local_sizes(inventory, 1));
}

std::int64_t sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

/// OPT with V=1000, h=64, F=256, two layers, 64 position rows: 168,192 parameters.
ModelSpec tiny_opt() {
  OptConfig config;
  config.vocab_size = 1000;
  config.hidden_size = 64;
  config.num_hidden_layers = 2;
  config.ffn_dim = 256;
  config.max_position_embeddings = 62;
  config.num_attention_heads = 4;
  return {.name = "tiny", .source = "this test", .config = config};
}

TrainingPlan plan_of(const ModelSpec& spec) {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model = spec;
  plan.batch = 64;
  plan.seq = {512};
  plan.precision = Precision::fp16;
  plan.optimizer.master_weights = true;
  plan.checkpoint.kind = CheckpointKind::full;
  return plan;
}

EstimateInputs inputs_of(const Parallelism& parallel, const ModelSpec& spec = tiny_opt()) {
  TrainingPlan plan = plan_of(spec);
  plan.parallel = parallel;
  return estimate_inputs(plan);
}

std::int64_t count_role(const ModelSpec& spec, ParameterRole role) {
  return std::ranges::count(model_parameters(spec), role, &ParameterInfo::role);
}

}  // namespace

TEST_CASE("parameters know what they are to their module") {
  const ModelSpec opt = tiny_opt();
  CHECK(count_role(opt, ParameterRole::embedding) == 2);
  CHECK(count_role(opt, ParameterRole::linear_weight) == 2 * 6);
  CHECK(count_role(opt, ParameterRole::bias) == 2 * 6);
  CHECK(count_role(opt, ParameterRole::norm) == 2 * 4 + 2);
  CHECK(count_role(opt, ParameterRole::other) == 0);
  CHECK(count_role(model_preset("gpt2"), ParameterRole::conv1d_weight) == 12 * 4);
  CHECK(count_role(model_preset("llama-7b"), ParameterRole::norm) == 2 * 32 + 1);
}

TEST_CASE("LLMem's inventory of a small model is what one counts by hand") {
  const LlmemInventory tiny = inventory_of(tiny_opt());
  CHECK(tiny.embed_p == 64000);
  CHECK(tiny.lm_p == 64000);
  CHECK(tiny.other_p == 104192);
  CHECK(tiny.e_n == 2);
  CHECK(tiny.l_n == 2);
  CHECK(tiny.on == 64);
  CHECK(tiny.embed_n == 64);
  CHECK(tiny.V == 1000);
  CHECK(tiny.B == 2);
  CHECK(tiny.moment_tensors.size() == 14);
  CHECK(tiny.walked_tensors.size() == 14 + 12 + 1);
  CHECK(tiny.walked_tensors.back() == 64000);
}

TEST_CASE("an untied head has no moments in the paper and ends the published code's list") {
  const LlmemInventory codegen = inventory_of("codegen-350M");
  CHECK(codegen.lm_p == 51200 * 1024);
  CHECK(codegen.e_n == 1);
  CHECK(codegen.B == 4);
  CHECK(codegen.moment_tensors.size() == 1 + 20 * 4);
  CHECK(codegen.walked_tensors.size() == 1 + 20 * (4 + 2) + 2);
  CHECK(codegen.walked_tensors.back() == 51200);  // the head's bias
}

TEST_CASE("narrow word embeddings keep their width and their projections") {
  const LlmemInventory opt = inventory_of("opt-350m");
  CHECK(opt.embed_p == 50272 * 512);
  CHECK(opt.lm_p == 50272 * 512);
  CHECK(opt.embed_n == 512);
  CHECK(opt.on == 1024);
  CHECK(opt.moment_tensors.size() == 2 + 2 + 24 * 6);
}

TEST_CASE("the chunk search takes the first size that wastes least") {
  const ChunkSearch search{.smallest = 10, .range = 6, .step = 2};
  const std::vector<std::int64_t> sizes{4, 4, 4, 4};  // wastes 4, 8, 12, 0 with 10, 12, 14, 16
  CHECK(gemini_chunk_size(sizes, 1, search) == 16);
  CHECK(gemini_chunk_size(sizes, 3, search) == 18);
  CHECK(gemini_chunk_size(sizes, 1, {.smallest = 10, .range = 4, .step = 2}) == 10);
  CHECK(gemini_chunk_size(sizes, 1, {.smallest = 17, .range = 4, .step = 2}) == 16);  // all in one
}

TEST_CASE("tensors are packed in order, and one above the chunk size has a chunk of its own") {
  const std::vector<std::int64_t> sizes{6, 20, 4, 4, 4};
  CHECK(gemini_chunks(sizes, 10) == std::vector<std::int64_t>{10, 20, 10, 10});
}

TEST_CASE("chunks hold every parameter of the paper's models") {
  struct Row {
    std::string_view model;
    std::int64_t size;
    std::size_t chunks;
    std::int64_t capacity;
  };

  const std::vector<Row> rows{
      {"opt-125m", 44101632, 3, 132304896},       {"opt-350m", 44088320, 8, 352706560},
      {"bloom-560m", 50385920, 7, 559216640},     {"codegen-350M", 63001600, 6, 378009600},
      {"gpt-neo-1.3B", 33568768, 38, 1344970752}, {"llama-7b", 45101056, 162, 7478312960}};
  for (const Row& row : rows) {
    CAPTURE(row.model);
    const auto sizes = llmem_local_sizes(inventory_of(row.model), 1);
    CHECK(gemini_chunk_size(sizes) == row.size);
    const auto chunks = gemini_chunks(sizes, row.size);
    CHECK(chunks.size() == row.chunks);
    CHECK(sum(chunks) == row.capacity);
    CHECK(sum(chunks) >= sum(sizes));
  }
}

TEST_CASE("tensor parallelism splits matrices and leaves vectors whole") {
  const auto sizes = llmem_local_sizes(inventory_of(tiny_opt()), 2);
  // Matrices 68,096 + 98,304 elements, of them half; biases 1,152 and norms 640 whole.
  CHECK(sum(sizes) == (68096 + 98304) / 2 + 1152 + 640);
}

TEST_CASE("LLMem's summands of a small model are what one computes by hand") {
  const LlmemInventory tiny = inventory_of(tiny_opt());
  const LlmemBatch batch{.bs = 64, .sl = 512};
  CHECK(chunk_size(tiny) == 168192);
  const LlmemParts parts = llmem_parts(tiny, 168192, batch);
  CHECK(parts.m_p == 2 * kMiB);  // 6 (64,000 + 168,192) bytes
  CHECK(parts.m_p16 == 2 * kMiB);
  CHECK(parts.m_p32 == 2 * kMiB);
  CHECK(parts.m_os == 14 * 2 * kMiB);
  CHECK(parts.m_out == 16 * kMiB);  // (2+2) x 64 x 512 x 64 x 2
  CHECK(parts.m_lm == 3 * 64 * kMiB + 128000);
  CHECK(llmem_back(tiny, batch, 1) == 0);
  CHECK(llmem_back(tiny, batch, 2) == 4 * kMiB);
  CHECK(llmem_back(tiny, batch, 4) == 6 * kMiB);

  const auto peak = [&](LlmemMethod method) {
    return llmem_peak(method, tiny, 168192, batch, kFour).bytes();
  };
  const double kept = 16 * kMiB + parts.m_lm;
  CHECK(peak(LlmemMethod::cdp) == kBase + 30 * kMiB + kept);
  CHECK(peak(LlmemMethod::adp) == kBase + 2 * kMiB + 7.5 * kMiB + kept);
  CHECK(peak(LlmemMethod::tp) == kBase + 7.5 * kMiB + kept + 6 * kMiB);
  CHECK(peak(LlmemMethod::dp_tp) == kBase + 1 * kMiB + 7.5 * kMiB + kept + 4 * kMiB);
}

TEST_CASE("LLMem's printed formulas give the derived values of the paper's models") {
  struct Row {
    std::string_view model;
    double bs, cdp, adp, tp, dp_tp;
  };

  const std::vector<Row> rows{{"opt-125m", 1, 3241820160, 2051162112, 1869234176, 1930575872},
                              {"opt-350m", 8, 7316013056, 4324425728, 3973677056, 4090593280},
                              {"codegen-350M", 8, 8210350080, 5474091008, 5141692416, 5252841472}};
  for (const Row& row : rows) {
    CAPTURE(row.model);
    const LlmemInventory inventory = inventory_of(row.model);
    const std::int64_t cs = chunk_size(inventory);
    const auto peak = [&](LlmemMethod method) {
      return llmem_peak(method, inventory, cs, {.bs = row.bs, .sl = 512}, kFour).bytes();
    };
    CHECK(peak(LlmemMethod::cdp) == row.cdp);
    CHECK(peak(LlmemMethod::adp) == row.adp);
    CHECK(peak(LlmemMethod::tp) == row.tp);
    CHECK(peak(LlmemMethod::dp_tp) == row.dp_tp);
  }
}

TEST_CASE("on one GPU ADP is CDP but for one rounding of m_p") {
  for (const auto* model : {"opt-125m", "codegen-350M", "bloom-560m"}) {
    const LlmemInventory inventory = inventory_of(model);
    const std::int64_t cs = chunk_size(inventory);
    const auto peak = [&](LlmemMethod method) {
      return llmem_peak(method, inventory, cs, {}, {.m_base = kBase, .n = 1, .tp_n = 1}).bytes();
    };
    const double difference = peak(LlmemMethod::adp) - peak(LlmemMethod::cdp);
    CHECK((difference == 0 || difference == kLlmemUnit));
  }
}

TEST_CASE("the corrected fp16 term of DP+TP is the printed one for 2 x 2 and no other") {
  const LlmemInventory inventory = inventory_of("opt-125m");
  const std::int64_t cs = chunk_size(inventory);
  const auto difference = [&](int n, int tp_n) {
    const LlmemJob job{.m_base = kBase, .n = n, .tp_n = tp_n};
    const auto peak = [&](LlmemGathered gathered) {
      return llmem_peak(LlmemMethod::dp_tp, inventory, cs, {}, job, gathered).bytes();
    };
    return peak(LlmemGathered::printed) - peak(LlmemGathered::corrected);
  };
  const double m_p16 = llmem_parts(inventory, cs, {}).m_p16;
  CHECK(difference(4, 2) == 0);
  CHECK(difference(8, 2) == m_p16 / 4);  // 3/4 kept instead of 1/2
  CHECK(difference(8, 4) == m_p16 / 4);  // 1/2 kept instead of 1/4
}

TEST_CASE("the published code rounds every tensor of a small model by itself") {
  const LlmemInventory tiny = inventory_of(tiny_opt());
  const LlmemBatch batch{.bs = 64, .sl = 512};
  const auto parts_of = [&](const LlmemJob& job) {
    return llmem_code_parts(tiny, llmem_code_chunks(tiny, job), batch, job);
  };
  const LlmemCodeParts one = parts_of({.m_base = 0, .n = 1, .tp_n = 1});
  CHECK(one.moments == 26 * 4 * kMiB);  // 14 matrices and 12 biases, two moments each
  CHECK(one.gathered == 0);
  CHECK(one.head_weights == 2 * kMiB);
  CHECK(one.outputs == 4 * 4 * kMiB);
  CHECK(one.logits == 3 * 64 * kMiB);
  CHECK(one.back == 0);
  CHECK(one.inputs == 2 * kMiB);
  CHECK(one.chunk_bytes() == 4 * kMiB);  // one chunk in fp16 and one in fp32

  CHECK(parts_of({.m_base = 0, .n = 4, .tp_n = 1}).gathered == 26 * 2 * kMiB);
  CHECK(parts_of({.m_base = 0, .n = 4, .tp_n = 2}).gathered == 26 * 2 * kMiB);
  CHECK(parts_of({.m_base = 0, .n = 4, .tp_n = 4}).gathered == 0);
  CHECK(parts_of({.m_base = 0, .n = 4, .tp_n = 2}).back == 2 * kMiB);  // one layer of two
}

TEST_CASE("the published code's sums give the derived values of the paper's models") {
  struct Row {
    std::string_view model;
    double param, out, head, chunk;
  };

  const std::vector<Row> rows{{"opt-350m", 3311403008, 205520896, 1235222528, 2147483648},
                              {"codegen-350M", 3021996032, 184549376, 2516582400, 2290089984}};
  const LlmemJob job{.m_base = 0, .n = 1, .tp_n = 1};
  for (const Row& row : rows) {
    CAPTURE(row.model);
    const LlmemInventory inventory = inventory_of(row.model);
    const LlmemCodeParts parts =
        llmem_code_parts(inventory, llmem_code_chunks(inventory, job), {.bs = 8, .sl = 512}, job);
    CHECK(parts.param_bytes() == row.param);
    CHECK(parts.outputs == row.out);
    CHECK(parts.logits == row.head);
    CHECK(parts.chunk_bytes() == row.chunk);
  }
}

TEST_CASE("peaks never fall with the batch") {
  const LlmemInventory inventory = inventory_of("opt-350m");
  for (const LlmemAccounting& accounting :
       {llmem_accounting(inventory, 512, kFour), llmem_code_accounting(inventory, 512, kFour)}) {
    for (const LlmemMethod method : kLlmemMethods) {
      double before = 0;
      for (int batch = 1; batch <= 40; ++batch) {
        const double peak = accounting(method, batch);
        CHECK(peak >= before);
        before = peak;
      }
    }
  }
}

TEST_CASE("Algorithm 1 finds the largest batch that does not exceed the capacity") {
  const auto linear = [](double fixed, double each) {
    return [=](LlmemMethod, int batch) { return fixed + each * batch; };
  };
  for (const double fixed : {0.0, 3.0, 99.0, 100.0, 101.0}) {
    for (const double each : {1.0, 7.0, 25.0, 100.0}) {
      const auto selection =
          llmem_select(linear(fixed, each), {.capacity = 100, .n = 4, .tp_n = 2});
      const int expected = std::max(0, static_cast<int>((100 - fixed) / each));
      const LlmemScore& adp = selection.of(LlmemMethod::adp);
      CHECK(adp.max_batch == expected);
      CHECK(adp.peak == fixed + each * std::max(1, expected));
    }
  }
}

TEST_CASE("Algorithm 1 scores samples per step, and the first of equal scores wins") {
  const auto same = [](LlmemMethod, int batch) { return static_cast<double>(batch); };
  const auto selection = llmem_select(same, {.capacity = 10, .n = 4, .tp_n = 2});
  CHECK(selection.of(LlmemMethod::cdp).score == 60);
  CHECK(selection.of(LlmemMethod::adp).score == 40);
  CHECK(selection.of(LlmemMethod::tp).score == 10);
  CHECK(selection.of(LlmemMethod::dp_tp).score == 20);
  CHECK(selection.printed == LlmemMethod::cdp);

  // TP 8 samples, DP+TP 4 on each of two groups.
  const auto tie = [](LlmemMethod method, int batch) {
    const bool is_tp = method == LlmemMethod::tp;
    return is_tp ? batch * 1.0 : method == LlmemMethod::dp_tp ? batch * 2.0 : 100.0;
  };
  CHECK(llmem_select(tie, {.capacity = 8, .n = 4, .tp_n = 2}).printed == LlmemMethod::tp);
}

TEST_CASE("the algorithm's last line and the paper's text disagree where only TP does not fit") {
  const auto only_adp = [](LlmemMethod method, int batch) {
    return method == LlmemMethod::adp ? static_cast<double>(batch) : 100.0;
  };
  const auto selection = llmem_select(only_adp, {.capacity = 10, .n = 4, .tp_n = 2});
  CHECK(selection.printed == std::nullopt);
  CHECK(selection.corrected == LlmemMethod::adp);
}

TEST_CASE("Algorithm 1 chooses for the paper's table 3 as derived") {
  struct Row {
    std::string_view model;
    int adp, tp, dp_tp;
    std::string_view chosen;
    int code_adp, code_tp, code_dp_tp;
    std::string_view code_chosen;
  };

  const std::vector<Row> rows{{"opt-1.3b", 43, 45, 44, "4DP", 38, 42, 40, "4DP"},
                              {"bloom-3b", 0, 4, 3, "2DP+2TP", 0, 3, 1, "4TP"},
                              {"codegen-2B", 6, 13, 11, "4DP", 2, 11, 8, "2DP+2TP"},
                              {"llama-7b", 0, 0, 0, "CPU offloading", 0, 0, 0, "CPU offloading"}};
  for (const Row& row : rows) {
    CAPTURE(row.model);
    const LlmemInventory inventory = inventory_of(row.model);
    const auto paper = llmem_select(llmem_accounting(inventory, 512, kFour), kCluster);
    CHECK(paper.of(LlmemMethod::cdp).max_batch == 0);
    CHECK(paper.of(LlmemMethod::adp).max_batch == row.adp);
    CHECK(paper.of(LlmemMethod::tp).max_batch == row.tp);
    CHECK(paper.of(LlmemMethod::dp_tp).max_batch == row.dp_tp);
    CHECK(llmem_label(paper.printed, kCluster) == row.chosen);
    const auto code = llmem_select(llmem_code_accounting(inventory, 512, kFour), kCluster);
    CHECK(code.of(LlmemMethod::adp).max_batch == row.code_adp);
    CHECK(code.of(LlmemMethod::tp).max_batch == row.code_tp);
    CHECK(code.of(LlmemMethod::dp_tp).max_batch == row.code_dp_tp);
    CHECK(llmem_label(code.printed, kCluster) == row.code_chosen);
  }
}

TEST_CASE("the plan's parallel sizes choose LLMem's method") {
  const auto terms_of = [](const Parallelism& parallel) {
    const EstimateInputs inputs = inputs_of(parallel);
    REQUIRE(kLlmem.refusal(inputs).empty());
    return kLlmem.evaluate(inputs).terms;
  };
  CHECK(terms_of({}).at(1).equation == "m_p - m_p32");
  CHECK(terms_of({.dp = 4, .dp_kind = DataParallel::ddp}).at(1).equation == "m_p - m_p32");
  CHECK(terms_of({.dp = 4, .dp_kind = DataParallel::zero3}).at(1).equation == "m_p16");
  CHECK(terms_of({.dp = 4, .dp_kind = DataParallel::fsdp2}).at(1).equation == "m_p16");
  CHECK(terms_of({.tp = 4}).at(1).equation == "(m_p - m_p32) / n");
  const auto both = terms_of({.dp = 2, .dp_kind = DataParallel::zero3, .tp = 2});
  CHECK(both.at(7).equation == "- m_p16 tp_n / n");
  CHECK(both.at(8).equation == "m_back");
}

TEST_CASE("LLMem refuses what it does not describe") {
  CHECK_FALSE(kLlmem.refusal(inputs_of({}, model_preset("t5-large"))).empty());
  CHECK_FALSE(kLlmem.refusal(inputs_of({}, model_preset("mixtral-8x7b"))).empty());
  CHECK_FALSE(kLlmem.refusal(inputs_of({.pp = 2})).empty());
  CHECK_FALSE(kLlmem.refusal(inputs_of({.cp = 2})).empty());
  CHECK_FALSE(kLlmem.refusal(inputs_of({.dp = 2, .dp_kind = DataParallel::zero1})).empty());
  CHECK_FALSE(kLlmemCode.refusal(inputs_of({.dp = 2})).empty());
  EstimateInputs inference = inputs_of({});
  inference.plan.training = false;
  CHECK_FALSE(kLlmem.refusal(inference).empty());
}

TEST_CASE("the corrected row speaks only where it differs") {
  const Parallelism two_by_two{.dp = 2, .dp_kind = DataParallel::zero3, .tp = 2};
  const Parallelism four_by_two{.dp = 4, .dp_kind = DataParallel::zero3, .tp = 2};
  CHECK_FALSE(kLlmemCorrected.refusal(inputs_of({})).empty());
  CHECK_FALSE(kLlmemCorrected.refusal(inputs_of(two_by_two)).empty());
  const EstimateInputs inputs = inputs_of(four_by_two);
  REQUIRE(kLlmemCorrected.refusal(inputs).empty());
  CHECK(kLlmemCorrected.evaluate(inputs).bytes() < kLlmem.evaluate(inputs).bytes());
}

TEST_CASE("LLMem's rows take batch, sequence and base from the plan") {
  EstimateInputs inputs = inputs_of({});
  inputs.base = Bytes{7};
  const LlmemInventory tiny = inventory_of(tiny_opt());
  const LlmemJob job{.m_base = 7, .n = 1, .tp_n = 1};
  const LlmemBatch batch{.bs = 64, .sl = 512};
  CHECK(kLlmem.evaluate(inputs).bytes() ==
        llmem_peak(LlmemMethod::cdp, tiny, 168192, batch, job).bytes());
  CHECK(kLlmemCode.evaluate(inputs).bytes() ==
        llmem_code_peak(llmem_code_parts(tiny, llmem_code_chunks(tiny, job), batch, job), job)
            .bytes());
  CHECK(kLlmem.broken_assumptions(inputs).empty());
}

TEST_CASE("LLMem says which of its assumptions a plan breaks") {
  EstimateInputs inputs = inputs_of({.dp = 2, .dp_kind = DataParallel::ddp, .tp = 2});
  inputs.plan.precision = Precision::fp32;
  inputs.plan.optimizer.kind = OptimizerKind::sgd;
  inputs.plan.checkpoint.kind = CheckpointKind::none;
  inputs.plan.loss.kind = LossKind::fused;
  CHECK(kLlmem.broken_assumptions(inputs).size() == 6);
  CHECK(kLlmemCode.broken_assumptions(inputs_of({}, model_preset("gpt2"))).size() == 1);
}
