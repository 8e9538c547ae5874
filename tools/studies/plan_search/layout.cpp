#include "tools/studies/plan_search/layout.hpp"

#include <algorithm>
#include <numeric>

#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

/// A rank's own part of a sequence, in two chunks (Megatron-Core's and PyTorch's balanced rings).
bool can_be_cut(const TrainingPlan& plan, int cp) {
  return std::ranges::all_of(plan.seq, [cp](std::int64_t s) { return s % (2 * cp) == 0; });
}

/// Longest ring that Llama 3's report trains with (arXiv 2407.21783, table 4).
constexpr int kMostContextRanks = 16;

std::vector<int> context_sizes(const TrainingPlan& plan, int gpus, std::optional<int> fixed) {
  std::vector<int> sizes;
  const int most = fixed.value_or(std::min(gpus, kMostContextRanks));
  for (int cp = fixed.value_or(1); cp <= most; cp *= 2) {
    if (gpus % cp == 0 && (cp == 1 || can_be_cut(plan, cp))) {
      sizes.push_back(cp);
    }
  }
  return sizes;
}

/// The sizes of one axis among `gpus` GPUs, up to `most` unless one is given.
std::vector<int> divisors(int gpus, int most, std::optional<int> fixed) {
  std::vector<int> sizes;
  for (int size = fixed.value_or(1); size <= fixed.value_or(most); ++size) {
    if (gpus % size == 0) {
      sizes.push_back(size);
    }
  }
  return sizes;
}

bool is_tried(const Layout& layout, const FixedOptions& fixed, PipelineRule rule) {
  const bool keeps_rule =
      rule == PipelineRule::any || layout.pp == 1 || layout.tp == kRanksOfMachine;
  return keeps_rule && layout.dp == fixed_size(fixed, "dp").value_or(layout.dp) &&
         layout.ep == fixed_size(fixed, "ep").value_or(layout.ep) &&
         layout.replicas == fixed_size(fixed, "dp-replicate").value_or(layout.replicas);
}

/// The same sizes with experts spread, and with a copy of the model for each machine.
void add_refinements(const TrainingPlan& plan, const Layout& plain, std::vector<Layout>& all) {
  all.push_back(plain);
  const int ranks = plain.dp * plain.cp;
  const bool splits_experts = plan.parallel.etp.value_or(1) > 1;
  const int spread = splits_experts ? ranks : plain.tp * ranks;
  const int step = splits_experts ? 1 : plain.tp;
  const int most = std::gcd(spread, static_cast<int>(shape_of(plan.model).experts));
  for (int ep = std::max(step, 2); ep <= most; ++ep) {
    if (most % ep == 0 && ep % step == 0) {
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

std::vector<Layout> layouts(const TrainingPlan& base, int gpus, const FixedOptions& fixed,
                            PipelineRule rule) {
  std::vector<Layout> all;
  for (const int cp : context_sizes(base, gpus, fixed_size(fixed, "cp"))) {
    for (const int tp : divisors(gpus / cp, kRanksOfMachine, fixed_size(fixed, "tp"))) {
      const int rest = gpus / cp / tp;
      for (const int pp : divisors(rest, rest, fixed_size(fixed, "pp"))) {
        add_refinements(base, {.dp = rest / pp, .tp = tp, .pp = pp, .cp = cp}, all);
      }
    }
  }
  std::erase_if(all, [&](const Layout& each) { return !is_tried(each, fixed, rule); });
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
