// Forward passes that lead to one backward pass: two, where a loss compares the texts of pairs.
#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "workloads/sources/observed_parts.hpp"

namespace highwater {
namespace {

constexpr const char* kPasses = "steps.passes_of_backward";

/// Sequences and tokens of each pass; empty where one had no tokens.
std::vector<std::vector<std::int64_t>> shapes_of_passes(const ObservedFacts& facts) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (;;) {
    const std::string path = fmt::format("batch.shapes.{}", shapes.size());
    std::vector<std::int64_t> shape = facts.wholes(path);
    if (shape.size() != 2) {
      return facts.find(path) == nullptr ? shapes : std::vector<std::vector<std::int64_t>>{};
    }
    shapes.push_back(std::move(shape));
  }
}

/// In turns, where they differ.
std::string lengths_word(const std::vector<std::int64_t>& tokens) {
  const bool are_equal =
      std::ranges::adjacent_find(tokens, std::ranges::not_equal_to()) == tokens.end();
  return are_equal ? std::to_string(tokens.front()) : fmt::format("{}", fmt::join(tokens, ","));
}

}  // namespace

std::int64_t passes_of_backward(const ObservedFacts& facts) {
  const auto passes = facts.wholes(kPasses);
  const bool are_equal =
      std::ranges::adjacent_find(passes, std::ranges::not_equal_to()) == passes.end();
  return passes.empty() || !are_equal ? 1 : passes.front();
}

bool compares_pairs(const ObservedFacts& facts) {
  const auto shapes = shapes_of_passes(facts);
  return passes_of_backward(facts) == 2 && facts.flag("batch.labels") == false &&
         runs_known_loop(facts) && !shapes.empty() && shapes.size() % 2 == 0 &&
         !facts.flag("model.config.is_encoder_decoder").value_or(false);
}

void read_observed_pairs(const ObservedFacts& facts, SourceKeys& keys) {
  const auto shapes = shapes_of_passes(facts);
  std::vector<std::int64_t> first;
  std::int64_t second = 0;
  std::int64_t pairs = 0;
  for (std::size_t i = 0; i + 1 < shapes.size(); i += 2) {
    first.push_back(shapes[i][1]);
    second = std::max(second, shapes[i + 1][1]);
    pairs = std::max({pairs, shapes[i][0], shapes[i + 1][0]});
  }
  keys.use(kPasses, facts.shown(kPasses), "loss", "contrastive");
  keys.use("batch.shapes", fmt::format("{} pairs", pairs), "batch", std::to_string(pairs));
  keys.use("batch.shapes", fmt::format("{} tokens", fmt::join(first, ", ")), "seq",
           lengths_word(first));
  if (second != std::ranges::max(first)) {
    keys.use("batch.shapes", fmt::format("{} tokens in the second texts", second), "target-seq",
             std::to_string(second));
  }
}

void read_observed_passes(const ObservedFacts& facts, SourceKeys& keys) {
  if (passes_of_backward(facts) > 1 && !compares_pairs(facts)) {
    keys.add_not_supported(kPasses, facts.shown(kPasses),
                           "forward passes whose losses are added up; simulated as one",
                           MemorySign::more);
  }
}

}  // namespace highwater
