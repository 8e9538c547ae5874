// Megatron-Core: buffer layouts by hand, static bytes against Megatron-LM's closed form,
// activations against Korthikanti et al., and NeMo's buckets.
#include "workloads/estimates/forms/megatron.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/recorded_releases.hpp"
#include "tests/support/step_requests.hpp"
#include "workloads/megatron/data_parallel/apex_buckets.hpp"
#include "workloads/megatron/data_parallel/param_and_grad_buffer.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/model/families/families.hpp"
#include "workloads/plan/model/megatron_config.hpp"
#include "workloads/plan/options/framework_profile.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"

using namespace highwater;
using highwater::distributed_runs::requests_of;
using megatron::BufferLayout;
using megatron::layout_buffer;
using megatron::Range;

namespace {

constexpr std::int64_t kWidth = 256;
constexpr std::int64_t kTokens = 128;
constexpr std::int64_t kSequences = 2;
constexpr std::int64_t kHeads = 8;

ModelSpec gpt(std::int64_t layers, double dropout = 0.0) {
  return {"gpt", "test",
          Gpt2Config{.vocab_size = 1000,
                     .n_positions = kTokens,
                     .n_embd = kWidth,
                     .n_layer = layers,
                     .n_head = kHeads,
                     .resid_pdrop = dropout,
                     .embd_pdrop = dropout,
                     .attn_pdrop = dropout}};
}

ModelSpec llama() {
  return {"llama", "test",
          LlamaConfig{.vocab_size = 1024,
                      .hidden_size = kWidth,
                      .intermediate_size = 704,
                      .num_hidden_layers = 2,
                      .num_attention_heads = kHeads,
                      .num_key_value_heads = 4}};
}

TrainingPlan plan_of_megatron(ModelSpec model) {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  apply_framework(Framework::megatron, plan);
  plan.model = std::move(model);
  plan.attention = Attention::eager;
  plan.batch = kSequences;
  plan.seq = {kTokens};
  return plan;
}

struct Live {
  std::map<Category, std::int64_t> bytes;

  [[nodiscard]] std::int64_t of(Category category) const {
    const auto found = bytes.find(category);
    return found == bytes.end() ? 0 : found->second;
  }
};

/// What is alive when phase `wanted` of step `at` begins; at the end if there is no such phase.
Live live_bytes_at(const TrainingPlan& plan, std::uint64_t at, std::string_view wanted) {
  const RequestTrace trace = generate(plan);
  std::vector<std::pair<Category, std::int64_t>> blocks;
  Live live;
  std::uint64_t step = 0;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::step) {
      step = event.value + 1;
    } else if (event.kind == EventKind::phase && step == at + 1 &&
               trace.tables.strings[event.text()] == wanted) {
      break;
    } else if (event.kind == EventKind::alloc) {
      blocks.emplace_back(event.category, static_cast<std::int64_t>(event.value));
      live.bytes[event.category] += blocks.back().second;
    } else if (event.kind == EventKind::free) {
      const auto& [category, bytes] = blocks[event.allocation.index()];
      live.bytes[category] -= bytes;
    }
  }
  return live;
}

MegatronModel closed_form_llama() {
  return {.hidden = kWidth,
          .layers = 2,
          .ffn = 704,
          .padded_vocab = 1024,
          .query_ratio = 1,
          .kv_ratio = 0.5,
          .gated = true,
          .rms_norm = true,
          .untied = true};
}

/// Bytes that one more layer keeps for the backward.
std::int64_t layer_activations(TrainingPlan plan, double dropout) {
  plan.model = gpt(2, dropout);
  const std::int64_t two = live_bytes_at(plan, 1, "backward").of(Category::activation);
  plan.model = gpt(3, dropout);
  return live_bytes_at(plan, 1, "backward").of(Category::activation) - two;
}

// Beside the paper's list: mean and deviation of each row, fp32, in two norms.
constexpr std::int64_t kStatistics = 2 * 2 * 4 * kTokens * kSequences;
constexpr std::int64_t kSbh = kTokens * kSequences * kWidth;
constexpr std::int64_t kScores = 5 * kHeads * kTokens * kTokens * kSequences;

}  // namespace

TEST_CASE("A buffer holds the parameters from the last to the first without gaps") {
  const std::array<std::int64_t, 3> sizes{100, 10, 64};
  const BufferLayout layout = layout_buffer(sizes, {.ranks = 4});
  CHECK(layout.params == std::vector<Range>{{74, 174}, {64, 74}, {0, 64}});
  CHECK(layout.buckets == std::vector<Range>{{0, 174}});
  CHECK(layout.elements == 174);
}

TEST_CASE("The distributed optimizer aligns parameters to 64 and buckets to lcm(ranks, 128)") {
  const std::array<std::int64_t, 3> sizes{100, 10, 64};
  const BufferLayout one = layout_buffer(sizes, {.ranks = 4, .is_distributed = true});
  CHECK(one.params == std::vector<Range>{{128, 228}, {64, 74}, {0, 64}});
  CHECK(one.buckets == std::vector<Range>{{0, 256}});
  const BufferLayout split =
      layout_buffer(sizes, {.ranks = 3, .is_distributed = true, .bucket_size = 60});
  CHECK(split.params == std::vector<Range>{{448, 548}, {384, 394}, {0, 64}});
  CHECK(split.buckets == std::vector<Range>{{0, 384}, {384, 768}});
}

TEST_CASE("The embedding of the first and the last stage is a bucket of its own") {
  const std::array<std::int64_t, 3> sizes{100, 10, 64};
  const BufferLayout layout =
      layout_buffer(sizes, {.ranks = 4, .is_distributed = true, .shared_embedding = 1});
  CHECK(layout.params == std::vector<Range>{{256, 356}, {128, 138}, {0, 64}});
  CHECK(layout.buckets == std::vector<Range>{{0, 128}, {128, 256}, {256, 384}});
}

TEST_CASE("Buckets have 40 million elements, more from 41 ranks on, if gradients overlap") {
  CHECK_FALSE(megatron::bucket_size({.dp = 8}).has_value());
  CHECK(megatron::bucket_size({.dp = 8, .megatron = {.overlap_grad_reduce = true}}) == 40'000'000);
  CHECK(megatron::bucket_size({.dp = 64, .megatron = {.overlap_grad_reduce = true}}) == 64'000'000);
  CHECK(megatron::bucket_size(
            {.dp = 64, .megatron = {.overlap_grad_reduce = true, .bucket_size = 5}}) == 5);
}

TEST_CASE("Random buffers keep every parameter once, inside its bucket") {
  std::mt19937 random(7);
  std::uniform_int_distribution<std::int64_t> size(1, 5000);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::int64_t> sizes(20);
    std::ranges::generate(sizes, [&] { return size(random); });
    const std::int64_t ranks = 1 + round % 7;
    const BufferLayout layout =
        layout_buffer(sizes, {.ranks = ranks, .is_distributed = true, .bucket_size = 8000});
    std::int64_t padding = layout.elements;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const Range& bucket = layout.buckets[layout.bucket[i]];
      CHECK(layout.params[i].size() == sizes[i]);
      CHECK(layout.params[i].start % 64 == 0);
      CHECK(bucket.start <= layout.params[i].start);
      CHECK(layout.params[i].end <= bucket.end);
      CHECK(bucket.size() % ranks == 0);
      padding -= sizes[i];
    }
    const auto buckets = static_cast<std::int64_t>(layout.buckets.size());
    CHECK(padding >= 0);
    CHECK(padding < 64 * 20 + buckets * std::lcm(ranks, std::int64_t{128}));
  }
}

TEST_CASE("The vocabulary is padded to a multiple of 128 times the tensor-parallel size") {
  CHECK(megatron::padded_vocab(50257, 128, 1) == 50304);
  CHECK(megatron::padded_vocab(50257, 128, 4) == 50688);
  CHECK(megatron::padded_vocab(1024, 128, 8) == 1024);
}

TEST_CASE("States take 18 bytes a parameter, or 6 + 12 / dp, as Megatron-LM's form says") {
  for (const bool shares : {false, true}) {
    TrainingPlan plan = plan_of_megatron(llama());
    plan.parallel.dp = 4;
    plan.parallel.dp_kind = shares ? DataParallel::zero1 : DataParallel::ddp;
    const Live live = live_bytes_at(plan, 2, "none");
    const double all = static_cast<double>(live.of(Category::parameter)) +
                       static_cast<double>(live.of(Category::gradient)) +
                       static_cast<double>(live.of(Category::optimizer_state));
    const MegatronJob job{.dp = 4, .distributed_optimizer = shares};
    const double form = megatron_states(closed_form_llama(), job).bytes();
    const double loss_scale = 4;
    // All sizes are multiples of 128, so nothing is padded.
    CHECK(all == form + loss_scale);
  }
}

TEST_CASE("A layer keeps Korthikanti's bytes") {
  TrainingPlan plan = plan_of_megatron(gpt(2));
  SECTION("nothing recomputed: 34 sbh + 5 a s^2 b") {
    CHECK(layer_activations(plan, 0.1) == 34 * kSbh + kScores + kStatistics);
  }
  SECTION("tensor parallel: (10 + 24 / t) sbh + 5 a s^2 b / t") {
    plan.parallel.tp = 2;
    CHECK(layer_activations(plan, 0.1) == (10 + 12) * kSbh + kScores / 2 + kStatistics);
  }
  SECTION("with sequence parallelism: all of it / t") {
    plan.parallel.tp = 2;
    plan.parallel.sequence_parallel = true;
    CHECK(layer_activations(plan, 0.1) == (34 * kSbh + kScores + kStatistics) / 2);
  }
  SECTION("core attention recomputed: 34 sbh / t") {
    plan.parallel.tp = 2;
    plan.parallel.sequence_parallel = true;
    plan.checkpoint.kind = selective_kind(Framework::megatron);
    CHECK(layer_activations(plan, 0.1) == (34 * kSbh + kStatistics) / 2);
  }
  SECTION("all recomputed: 2 sbh") {
    plan.checkpoint.kind = CheckpointKind::full;
    CHECK(layer_activations(plan, 0.1) == 2 * kSbh);
  }
}

TEST_CASE("From the second step on every step asks for the same") {
  TrainingPlan plan = plan_of_megatron(llama());
  plan.steps = 4;
  plan.grad_accum = 2;
  plan.parallel.dp = 2;
  plan.parallel.tp = 2;
  plan.parallel.sequence_parallel = true;
  plan.parallel.megatron.overlap_grad_reduce = true;
  for (const DataParallel kind : {DataParallel::ddp, DataParallel::zero1}) {
    plan.parallel.dp_kind = kind;
    const RequestTrace trace = generate(plan);
    CHECK(requests_of(trace, 2) == requests_of(trace, 3));
  }
}

TEST_CASE("Two tensor-parallel ranks hold the whole model, norms twice") {
  TrainingPlan plan = plan_of_megatron(llama());
  const std::int64_t whole = live_bytes_at(plan, 0, "data").of(Category::parameter);
  plan.parallel.tp = 2;
  const std::int64_t half = live_bytes_at(plan, 0, "data").of(Category::parameter);
  const std::int64_t norms = 2 * 5 * kWidth;
  CHECK(2 * half == whole + norms);
}

TEST_CASE("Apex's buckets are never shared by two groups and never smaller") {
  constexpr std::int64_t kBucket = 262144;  // 1 MiB of fp32
  const std::array<megatron::ApexGroup, 3> groups{
      megatron::ApexGroup{kBucket}, megatron::ApexGroup{100, 10}, megatron::ApexGroup{300000}};
  const megatron::ApexBuckets buckets = megatron::lay_out(groups, 1, 2);
  CHECK(buckets.bucket_elements == kBucket);
  CHECK(buckets.shard_elements == kBucket / 2);
  CHECK(buckets.first_bucket == std::vector<std::size_t>{0, 1, 2, 4});
  CHECK(megatron::lay_out(groups, 1, 3).shard_elements == 87360);  // 87381 rounded down to 32
}

TEST_CASE("NeMo's gpt-1b holds 12.5 GB where 3.6 GiB would do: 200 MB buckets") {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  apply_framework(Framework::nemo, plan);
  plan.model = model_preset("nemo-gpt-1b");
  plan.seq = {65536};
  plan.steps = 1;
  plan.parallel.dp = 2;
  plan.parallel.tp = 4;
  const auto state = [&](double bucket_mb) {
    plan.parallel.apex.bucket_cap_mb = bucket_mb;
    const Live live = live_bytes_at(plan, 0, "data");
    return live.of(Category::parameter) + live.of(Category::gradient) +
           live.of(Category::optimizer_state);
  };
  // 24 layers of 12,558,336 elements, two embeddings of 50688 / 4 rows and the last norm.
  constexpr std::int64_t kParameters = 24 * 12'558'336 + 2 * 12672 * 2048 + 2 * 2048;
  // 23 layers fill a bucket each; the first one and the embeddings share two.
  constexpr std::int64_t kSlots = 25 * 52'428'800LL;
  constexpr std::int64_t kScalars = 8;
  const std::int64_t wide = state(200);
  CHECK(wide == 2 * kParameters + (4 + 10 / 2) * kSlots + kScalars);
  CHECK(wide > 11'400'000'000);
  CHECK(wide < 13'100'000'000);
  const double fitting = static_cast<double>(state(4)) / (1 << 30);
  CHECK(fitting == Approx(3.61).epsilon(0.02));
}

TEST_CASE("Buckets that stay mostly empty are told with the size that fills them") {
  constexpr std::int64_t kMega = 262144;  // elements of 1 MiB of fp32
  const std::array<megatron::ApexGroup, 2> layers{megatron::ApexGroup{3 * kMega},
                                                  megatron::ApexGroup{3 * kMega}};
  const BucketUse wide = megatron::bucket_use(layers, 8, 1, 14);
  CHECK(wide.filled == 6 * kMega);
  CHECK(wide.chosen.buckets == 2);
  CHECK(wide.empty(wide.chosen) == Bytes{10 * kMega * 14});
  REQUIRE(wide.right.has_value());
  CHECK(wide.right->mb == 3);
  CHECK(wide.empty(*wide.right) == Bytes{});
  CHECK_FALSE(megatron::bucket_use(layers, 3, 1, 14).right.has_value());
  CHECK(describe_empty(wide) ==
        "the optimizer's 2 buckets of 8 MiB keep 35.00 MiB of gradients and states empty; "
        "--apex-bucket-mb 3 keeps 0 B empty");
}

TEST_CASE("NeMo's run tells how full its optimizer's buckets are") {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model = model_preset("nemo-gpt-1b");
  plan.seq = {64};
  plan.steps = 1;
  CHECK_FALSE(generate_run(plan).buckets.has_value());
  apply_framework(Framework::nemo, plan);
  plan.parallel.dp = 2;
  plan.parallel.tp = 4;
  plan.parallel.apex.bucket_cap_mb = 200;
  const auto buckets = generate_run(plan).buckets;
  REQUIRE(buckets.has_value());
  CHECK(buckets->chosen.buckets == 25);
  CHECK(buckets->bytes_per_element == 4 + 10.0 / 2);
  CHECK(buckets->right->mb == 50);
}
