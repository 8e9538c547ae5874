#include "tools/studies/plan_search/layout.hpp"

#include <algorithm>
#include <numeric>

namespace highwater {
namespace {

/// A rank's own part of a sequence, in two chunks (Megatron-Core's and PyTorch's balanced rings).
bool can_be_cut(const TrainingPlan& plan, int cp) {
  return std::ranges::all_of(plan.seq, [cp](std::int64_t s) { return s % (2 * cp) == 0; });
}

/// Longest ring that Llama 3's report trains with (arXiv 2407.21783, table 4).
constexpr int kMostContextRanks = 16;

std::vector<int> context_sizes(const TrainingPlan& plan, int gpus) {
  std::vector<int> sizes{1};
  for (int cp = 2; cp <= std::min(gpus, kMostContextRanks); cp *= 2) {
    if (gpus % cp == 0 && can_be_cut(plan, cp)) {
      sizes.push_back(cp);
    }
  }
  return sizes;
}

/// The same sizes with experts spread, and with a copy of the model for each machine.
void add_refinements(const TrainingPlan& plan, const Layout& plain, std::vector<Layout>& all) {
  all.push_back(plain);
  const int ranks = plain.dp * plain.cp;
  const int most = std::gcd(ranks, static_cast<int>(shape_of(plan.model).experts));
  for (int ep = 2; ep <= most; ++ep) {
    if (most % ep == 0) {
      all.push_back(plain);
      all.back().ep = ep;
    }
  }
  if (ranks > kRanksOfMachine && plain.dp % kRanksOfMachine == 0) {
    all.push_back(plain);
    all.back().replicas = plain.dp / kRanksOfMachine;
  }
}

}  // namespace

Axes used_axes(const Layout& layout) {
  Axes axes;
  const auto add = [&axes](int size, Axis axis) { axes = size > 1 ? axes | axis : axes; };
  add(layout.dp, Axis::dp);
  add(layout.tp, Axis::tp);
  add(layout.pp, Axis::pp);
  add(layout.cp, Axis::cp);
  add(layout.ep, Axis::ep);
  add(layout.replicas, Axis::replicas);
  return axes;
}

std::vector<Layout> layouts(const TrainingPlan& base, int gpus) {
  std::vector<Layout> all;
  for (const int cp : context_sizes(base, gpus)) {
    for (int tp = 1; tp <= std::min(gpus / cp, kRanksOfMachine); ++tp) {
      for (int pp = 1; pp <= gpus / cp / tp; ++pp) {
        if (gpus % (cp * tp * pp) == 0) {
          const Layout plain{.dp = gpus / (cp * tp * pp), .tp = tp, .pp = pp, .cp = cp};
          add_refinements(base, plain, all);
        }
      }
    }
  }
  return all;
}

void apply_layout(const Layout& layout, TrainingPlan& plan) {
  Parallelism& p = plan.parallel;
  p.dp = layout.dp;
  p.tp = layout.tp;
  p.pp = layout.pp;
  p.cp = layout.cp;
  p.ep = layout.ep;
  p.fsdp.replicas = layout.replicas;
}

}  // namespace highwater
