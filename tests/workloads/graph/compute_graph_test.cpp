// The compute graph of real runs: order, saved tensors against hand-computed sums, liveness, and
// its drawing.
#include "workloads/graph/compute_graph.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/recorded_releases.hpp"
#include "workloads/graph/graphviz.hpp"
#include "workloads/graph/liveness.hpp"
#include "workloads/plan/model/families/families.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"

using namespace highwater;

namespace {

// The toy blocks of the reference vectors: b=2, s=62, h=120, a=6, V=1013.
constexpr std::uint64_t kTokens = 2 * 62;
constexpr std::uint64_t kHidden = kTokens * 120;
constexpr std::uint64_t kScores = 2 * 6 * 62 * 62;

TrainingPlan toy_plan(ModelConfig config, int steps = 1) {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model.config = std::move(config);
  plan.batch = 2;
  plan.seq = {62};
  plan.steps = steps;
  plan.attention = Attention::eager;
  plan.dropout = 0.0;
  plan.optimizer.kind = OptimizerKind::sgd;
  return plan;
}

TrainingPlan gpt2_plan(std::int64_t layers = 3) {
  Gpt2Config config;
  config.vocab_size = 1013;
  config.n_positions = 64;
  config.n_embd = 120;
  config.n_layer = layers;
  config.n_head = 6;
  return toy_plan(config);
}

TrainingPlan llama_plan(std::int64_t layers = 3) {
  LlamaConfig config;
  config.vocab_size = 1013;
  config.hidden_size = 120;
  config.intermediate_size = 334;
  config.num_hidden_layers = layers;
  config.num_attention_heads = 6;
  config.num_key_value_heads = 2;
  TrainingPlan plan = toy_plan(config);
  plan.precision = Precision::bf16;
  return plan;
}

std::vector<TrainingPlan> plans() {
  std::vector<TrainingPlan> result;
  for (const TrainingPlan& base : {gpt2_plan(2), llama_plan(2)}) {
    result.push_back(base);
    for (const bool reentrant : {false, true}) {
      result.push_back(base);
      result.back().checkpoint = {.kind = CheckpointKind::full, .n = 1, .reentrant = reentrant};
    }
    result.push_back(base);
    result.back().attention = Attention::sdpa;
    result.back().precision = Precision::amp_bf16;
    result.back().dropout = 0.1;
    result.back().grad_accum = 2;
  }
  return result;
}

struct Run {
  GeneratedGraph generated;
  ComputeGraph graph;

  explicit Run(const TrainingPlan& plan)
      : generated(generate_with_graph(plan)), graph(generated.recording, generated.trace) {}

  [[nodiscard]] const RequestTrace& trace() const { return generated.trace; }

  [[nodiscard]] std::vector<OpId> operators() const {
    std::vector<OpId> ops;
    for (std::size_t i = 0; i < graph.operator_count(); ++i) {
      ops.emplace_back(i);
    }
    return ops;
  }
};

std::size_t count_if(bool condition) {
  return condition ? 1 : 0;
}

bool is_in(std::string_view path, const std::string& module) {
  return path == module || path.starts_with(module + ".");
}

/// Bytes requested and not freed after `events` events.
Bytes live_after(const RequestTrace& trace, std::uint64_t events) {
  std::vector<Bytes> bytes(trace.allocation_count);
  Bytes live;
  for (std::uint64_t i = 0; i < events; ++i) {
    const Event& event = trace.events[i];
    if (event.kind == EventKind::alloc) {
      bytes[event.allocation.index()] = event.bytes();
      live += event.bytes();
    } else if (event.kind == EventKind::free) {
      live -= bytes[event.allocation.index()];
    }
  }
  return live;
}

/// Where the forward operators of `module` begin first.
std::uint64_t forward_begin(const ComputeGraph& graph, const std::string& module) {
  for (std::size_t i = 0; i < graph.operator_count(); ++i) {
    const OpId op(i);
    if (graph.kind(op) == OperatorKind::forward && is_in(graph.module_path(op), module)) {
      return graph.begin(op);
    }
  }
  throw std::logic_error("no operator in " + module);
}

/// What layer 1 of `layers` keeps, in live bytes: from its first operator to the next layer's.
std::uint64_t kept_by_layer(const Run& run, const std::string& layers) {
  const auto before = live_after(run.trace(), forward_begin(run.graph, layers + ".1"));
  const auto after = live_after(run.trace(), forward_begin(run.graph, layers + ".2"));
  return (after - before).count();
}

/// The blocks that only nodes of layer 1 save, parameters left out.
std::uint64_t saved_by_layer(const Run& run, const std::string& layers) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < run.graph.tensor_count(); ++i) {
    const TensorId block(i);
    const auto keepers = run.graph.saved_by(block);
    const bool is_of_layer = std::ranges::all_of(
        keepers, [&](OpId op) { return is_in(run.graph.module_path(op), layers + ".1"); });
    if (!keepers.empty() && is_of_layer && run.graph.category(block) != Category::parameter) {
      sum += run.graph.bytes(block).count();
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("recording the graph changes nothing in the trace") {
  for (const TrainingPlan& plan : plans()) {
    const RequestTrace plain = generate(plan);
    const RequestTrace recorded = generate_with_graph(plan).trace;
    REQUIRE(plain.events.size() == recorded.events.size());
    std::size_t different = 0;
    for (std::size_t i = 0; i < plain.events.size(); ++i) {
      different += count_if(plain.events[i] != recorded.events[i]);
    }
    CHECK(different == 0);
  }
}

TEST_CASE("operators come after everything they read") {
  for (const TrainingPlan& plan : plans()) {
    const Run run(plan);
    std::size_t out_of_order = 0;
    for (const OpId op : run.operators()) {
      for (const auto& blocks : {run.graph.inputs(op), run.graph.saved_for(op)}) {
        for (const TensorId block : blocks) {
          const OpId made = run.graph.producer(block);
          out_of_order += count_if(made.has_value() && made >= op);
        }
      }
      for (const TensorId block : run.graph.outputs(op)) {
        out_of_order += count_if(!(run.graph.producer(block) == op));
      }
    }
    CHECK(out_of_order == 0);
    CHECK(run.operators().size() > 200);
  }
}

TEST_CASE("a topological order exists and respects every edge") {
  for (const TrainingPlan& plan : plans()) {
    const Run run(plan);
    const auto order = run.graph.topological_order();
    REQUIRE(order.size() == run.graph.operator_count());
    std::vector<std::size_t> place(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      place[order[i].index()] = i;
    }
    std::size_t wrong = 0;
    for (const OpId op : run.operators()) {
      for (const TensorId block : run.graph.outputs(op)) {
        for (const OpId consumer : run.graph.consumers(block)) {
          wrong += count_if(place[consumer.index()] <= place[op.index()]);
        }
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("no block is freed before an operator that reads it begins") {
  for (const TrainingPlan& plan : plans()) {
    const Run run(plan);
    const auto lives = lifetimes(run.graph, run.trace());
    std::size_t early = 0;
    for (std::size_t i = 0; i < lives.size(); ++i) {
      for (const OpId op : run.graph.consumers(TensorId(i))) {
        early += count_if(lives[i].freed < run.graph.begin(op));
      }
      early += count_if(lives[i].needed > lives[i].freed);
    }
    CHECK(early == 0);
  }
}

TEST_CASE("backward runs in the reverse order of forward") {
  for (const TrainingPlan& plan : {gpt2_plan(), llama_plan()}) {
    const Run run(plan);
    std::vector<OpId> backward;
    for (const OpId op : run.operators()) {
      if (run.graph.forward_of(op).has_value()) {
        backward.push_back(op);
        CHECK(run.graph.backward_of(run.graph.forward_of(op)) == op);
        CHECK(run.graph.sequence_nr(op) == run.graph.sequence_nr(run.graph.forward_of(op)));
      }
    }
    CHECK(backward.size() > 100);
    const auto number = [&](OpId op) { return run.graph.sequence_nr(op); };
    CHECK(std::ranges::is_sorted(backward, std::ranges::greater{}, number));
    CHECK(std::ranges::is_sorted(backward, std::ranges::greater{},
                                 [&](OpId op) { return run.graph.forward_of(op); }));
  }
}

// The reference vector 28*X + S*4 + stats + 3,844 + 28 counts the causal mask and two scalars that
// older code made in every layer; transformers 5.12 makes one mask for all.
TEST_CASE("a GPT-2 layer saves what its reference says") {
  const Run run(gpt2_plan());
  const std::uint64_t statistics = 2 * 2 * kTokens * 4;
  const std::uint64_t expected = 28 * kHidden * 4 + kScores * 4 + statistics;
  CHECK(statistics == 1984);
  CHECK(expected == 1'856'928 - 3'844 - 28);
  CHECK(kept_by_layer(run, "transformer.h") == expected);
  CHECK(saved_by_layer(run, "transformer.h") == expected);
}

TEST_CASE("a LLaMA layer saves what its reference says") {
  const Run run(llama_plan());
  const std::uint64_t ffn = kTokens * 334;
  const std::uint64_t expected = 24 * kHidden + 6 * kScores + 8 * ffn + 2 * kTokens * 4;
  CHECK(expected == 966'216 - 8);
  CHECK(kept_by_layer(run, "model.layers") == expected);
  CHECK(saved_by_layer(run, "model.layers") == expected);
}

TEST_CASE("freeing at the last use needs no more than the run did") {
  for (const TrainingPlan& plan : plans()) {
    const Run run(plan);
    const LivenessPeaks peaks = liveness_peaks(run.graph, run.trace());
    CHECK(peaks.graph_lower_bound <= peaks.actual);
    CHECK(peaks.graph_lower_bound > Bytes{peaks.actual.count() / 2});
    CHECK(peaks.actual == live_after(run.trace(), peak_event(run.trace()) + 1));
    const auto passes =
        liveness_peaks(run.graph, run.trace(), first_micro_batch(run.graph, run.trace()));
    CHECK(passes.actual <= peaks.actual);
    CHECK(passes.graph_lower_bound < passes.actual);
  }
}

TEST_CASE("logits that Python keeps are held by references only") {
  TrainingPlan plan = gpt2_plan();
  plan.keep_logits = true;
  const Run run(plan);
  std::uint64_t at_end_of_backward = 0;
  for (const OpId op : run.operators()) {
    if (run.graph.kind(op) == OperatorKind::backward) {
      at_end_of_backward = run.graph.end(op);
    }
  }
  const Bytes logits{kTokens * 1013 * 4};
  const auto holdings = why_alive(run.graph, run.trace(), at_end_of_backward);
  const auto kept = std::ranges::find_if(
      holdings, [&](const Holding& holding) { return run.graph.bytes(holding.block) == logits; });
  REQUIRE(kept != holdings.end());
  CHECK(kept->reason == Reason::references);
}

TEST_CASE("every block alive has a reason, and saved ones name their operator") {
  const Run run(gpt2_plan());
  const std::uint64_t event = forward_begin(run.graph, "transformer.ln_f");
  const auto holdings = why_alive(run.graph, run.trace(), event);
  Bytes sum;
  bool has_softmax = false;
  for (const HoldingSum& part : sum_holdings(run.graph, holdings)) {
    sum += part.bytes;
    has_softmax =
        has_softmax || (part.reason == Reason::saved && part.what == "SoftmaxBackward0" &&
                        part.module == "transformer.h.1.attn" && part.bytes == Bytes{kScores * 4});
  }
  CHECK(sum == live_after(run.trace(), event + 1));
  CHECK(has_softmax);
}

TEST_CASE("checkpointing keeps the arguments of each segment for the recomputation") {
  TrainingPlan plan = gpt2_plan();
  plan.checkpoint = {.kind = CheckpointKind::full, .n = 1, .reentrant = false};
  const Run run(plan);
  std::size_t segments = 0;
  std::size_t recomputed = 0;
  for (const OpId op : run.operators()) {
    recomputed += count_if(run.graph.kind(op) == OperatorKind::recompute);
    if (run.graph.name(op) == "recompute") {
      ++segments;
      const auto saved = run.graph.saved_for(op);
      const auto has_hidden = std::ranges::any_of(
          saved, [&](TensorId t) { return run.graph.bytes(t) == Bytes{kHidden * 4}; });
      CHECK(has_hidden);
    }
  }
  CHECK(segments == 3);
  CHECK(recomputed > 50);
}

TEST_CASE("live blocks at an operator contain its inputs and outputs") {
  const Run run(gpt2_plan(1));
  for (const OpId op : run.operators()) {
    if (run.graph.kind(op) != OperatorKind::forward) {
      continue;
    }
    const auto live = run.graph.live_at(op);
    for (const auto& blocks : {run.graph.inputs(op), run.graph.outputs(op)}) {
      for (const TensorId block : blocks) {
        CHECK(std::ranges::binary_search(live, block));
      }
    }
    CHECK(run.graph.live_bytes(op) > Bytes{});
  }
}

TEST_CASE("the drawing has one node for each operator with an effect, and dashed saved edges") {
  const Run run(gpt2_plan(2));
  const OperatorRange range = first_micro_batch(run.graph, run.trace());
  CHECK(range.first < range.last);
  const std::string all = graphviz(run.graph, {.range = range, .module = ""});
  CHECK(all.starts_with("digraph"));
  CHECK(std::ranges::count(all, '{') == std::ranges::count(all, '}'));
  CHECK(all.find("cluster_forward.transformer.h.1.mlp") != std::string::npos);
  CHECK(all.find("style=dashed") != std::string::npos);
  CHECK(all.find("AddmmBackward0") != std::string::npos);
  const std::string part = graphviz(run.graph, {.range = range, .module = "transformer.h.0.mlp"});
  CHECK(part.size() < all.size() / 4);
  CHECK(part.find("transformer.h.1") == std::string::npos);
}

TEST_CASE("Graphviz reads the drawing, where it is installed") {
  if (std::system("command -v dot > /dev/null 2>&1") != 0) {
    WARN("skipped: Graphviz is not installed");
    return;
  }
  const Run run(gpt2_plan(1));
  const OperatorRange range = first_micro_batch(run.graph, run.trace());
  const auto file = std::filesystem::temp_directory_path() /
                    ("highwater-graph-" + std::to_string(::getpid()) + ".dot");
  std::ofstream(file) << graphviz(run.graph, {.range = range, .module = "transformer.h.0.mlp"});
  CHECK(std::system(("dot -Tsvg '" + file.string() + "' > /dev/null").c_str()) == 0);
  std::filesystem::remove(file);
}
