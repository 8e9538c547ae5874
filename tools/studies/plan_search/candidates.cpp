#include "tools/studies/plan_search/candidates.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/engine/engine.hpp"
#include "workloads/plan/options/framework_profile.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/tensor_grid.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

constexpr std::int64_t kTokensOfStep = std::int64_t{4} << 20;
constexpr std::int64_t kTokensOfGpu = std::int64_t{128} << 10;

/// The largest micro-batch that is tried.
constexpr std::int64_t kLargestBatch = 65536;

/// A step cut into micro-batches.
struct Cut {
  std::int64_t batch = 1;
  int grad_accum = 1;
};

std::vector<Cut> powers_of_two(std::int64_t most, std::int64_t unit, int grad_accum) {
  std::vector<Cut> cuts;
  for (std::int64_t batch = unit; batch <= most; batch *= 2) {
    cuts.push_back({batch, grad_accum});
  }
  return cuts;
}

std::vector<Cut> divided(std::int64_t sequences, std::int64_t unit) {
  std::vector<Cut> cuts;
  for (std::int64_t batch = sequences; batch >= unit; --batch) {  // fewest micro-batches first
    if (sequences % batch == 0 && batch % unit == 0) {
      cuts.push_back({batch, static_cast<int>(sequences / batch)});
    }
  }
  return cuts;
}

/// Sequences of a step that each data-parallel rank has; 0 if they cannot be shared.
std::int64_t sequences_of_rank(const TrainingPlan& plan, const CandidateChoice& choice) {
  const int dp = plan.parallel.dp;
  if (choice.global_batch) {
    return *choice.global_batch % dp == 0 ? *choice.global_batch / dp : 0;
  }
  const std::int64_t share = usual_global_batch(plan, choice.gpus) / dp;
  return static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(share, 1))));
}

std::vector<Cut> cuts_of(const TrainingPlan& plan, const StrategyRow& row,
                         const CandidateChoice& choice) {
  const std::int64_t unit = grid_batch_parts(plan.parallel);
  if (plan.grad_accum > 1) {
    return powers_of_two(kLargestBatch, unit, plan.grad_accum);
  }
  const std::int64_t sequences = sequences_of_rank(plan, choice);
  if (row.traits.takes_one_micro_batch) {
    return powers_of_two(sequences, unit, 1);
  }
  return divided(sequences, unit);
}

/// Whether the program checkpoints by transformers' gradient_checkpointing_enable(), which has
/// whole blocks, and all of them (transformers 5.24, modeling_utils.py).
bool checkpoints_all_or_nothing(const TrainingPlan& plan) {
  return plan.model_code == ModelCode::hf &&
         (runs_trainer(plan.framework) || runs_accelerate(plan.framework) ||
          plan.framework == Framework::deepspeed);
}

std::vector<CheckpointKind> kinds_of_checkpointing(const TrainingPlan& plan) {
  if (checkpoints_all_or_nothing(plan)) {
    return {CheckpointKind::none, CheckpointKind::full};
  }
  return {CheckpointKind::none, selective_kind(plan.framework), CheckpointKind::every_n,
          CheckpointKind::full};
}

/// Kinds of checkpointing; the one that is asked for, if any.
std::vector<Checkpoint> checkpoints_of(const TrainingPlan& plan, const TrainingPlan& base) {
  if (base.checkpoint.kind != CheckpointKind::none || !base.training) {
    return {{.kind = base.checkpoint.kind,
             .n = base.checkpoint.n,
             .reentrant = plan.checkpoint.reentrant}};
  }
  std::vector<Checkpoint> all;
  for (const CheckpointKind kind : kinds_of_checkpointing(plan)) {
    all.push_back({.kind = kind,
                   .n = kind == CheckpointKind::every_n ? 2 : 1,
                   .reentrant = plan.checkpoint.reentrant && kind != CheckpointKind::none});
  }
  return all;
}

/// Numbers of chunks with which all have as many layers, or would with the embedding and the head
/// as layers (workloads/plan/pipeline/stage_layers.hpp).
std::vector<int> chunks_of(const TrainingPlan& plan, const StrategyRow& row) {
  std::vector<int> all{1};
  const int stages = plan.parallel.pp;
  const std::int64_t layers = shape_of(plan.model).layers;
  if (stages == 1 || !row.traits.interleaves) {
    return all;
  }
  for (int chunks = 2; std::int64_t{chunks} * stages <= layers; ++chunks) {
    const int parts = chunks * stages;
    if (layers % parts == 0 || (layers + 2) % parts == 0) {
      all.push_back(chunks);
    }
  }
  return all;
}

/// An interleaved schedule runs in groups of as many micro-batches as there are stages.
bool is_schedulable(const Variation& variation, const Parallelism& p) {
  return variation.chunks == 1 || variation.grad_accum % p.pp == 0;
}

/// The plan's own, and where that is transformers' a head fused with the loss (Liger's), which is
/// tried where nothing else fits.
std::vector<LossKind> losses_of(const TrainingPlan& plan) {
  std::vector<LossKind> losses{plan.loss.kind};
  if (plan.training && plan.model_code == ModelCode::hf && plan.loss.kind == LossKind::hf) {
    losses.push_back(LossKind::fused);
  }
  return losses;
}

bool is_last_resort(const Variation& variation, const TrainingPlan& plan) {
  return variation.loss != plan.loss.kind;
}

std::vector<Variation> possible_variations(const Candidate& candidate, const TrainingPlan& base,
                                           const CandidateChoice& choice) {
  std::vector<Variation> all;
  const std::vector<Cut> cuts = cuts_of(candidate.plan, *candidate.strategy, choice);
  const std::vector<int> chunks = chunks_of(candidate.plan, *candidate.strategy);
  const std::vector<Checkpoint> checkpoints = checkpoints_of(candidate.plan, base);
  for (const LossKind loss : losses_of(candidate.plan)) {
    for (const Checkpoint& checkpoint : checkpoints) {
      for (const int chunk : chunks) {
        for (const Cut& cut : cuts) {
          const bool keeps_logits = candidate.plan.keep_logits && !fuses_head(loss);
          all.push_back({checkpoint, chunk, cut.batch, cut.grad_accum, loss, keeps_logits});
        }
      }
    }
  }
  std::erase_if(
      all, [&](const Variation& each) { return !is_schedulable(each, candidate.plan.parallel); });
  return all;
}

void time_variations(Candidate& candidate, const TimeAssumptions& assumed) {
  TrainingPlan plan = candidate.plan;
  for (Variation& each : candidate.variations) {
    set_variation(each, plan);
    each.seconds = 1 / step_time(plan, assumed).sequences_per_second();
  }
  std::ranges::stable_sort(candidate.variations, {}, [&](const Variation& each) {
    return std::pair(is_last_resort(each, candidate.plan), each.seconds);
  });
}

/// Of a plan that the model is to carry out, unless PyTorch was asked for.
std::vector<std::string> obstacles(TrainingPlan plan) {
  auto problems = plan_problems(plan);
  if (plan.engine != EngineKind::torch) {
    plan.engine = EngineKind::model;
  }
  choose_engine(plan, problems);
  return problems;
}

/// Colossal-AI's GPT is a GPT-2, its ranks fill their grid, and nothing beside it is split.
bool suits_grid(const TrainingPlan& plan) {
  const Parallelism& p = plan.parallel;
  return !splits_over_grid(p) ||
         (family_name(plan.model) == "gpt2" && fills_grid(p) && p.gpus() == p.tp);
}

class Collector {
 public:
  Collector(const TrainingPlan& base, const CandidateChoice& choice)
      : base_(base),
        choice_(choice),
        layouts_(layouts(base, choice.gpus, choice.fixed, choice.pipelines)) {}

  Candidates collect() {
    for (std::size_t kind = choice_.least_given_up; kind <= choice_.most_given_up; ++kind) {
      for (const StrategyRow* row : strategies_called(choice_.only)) {
        if (is_for_model(*row)) {
          add_layouts(*row, kind);
        }
      }
    }
    for (const auto& [reason, names] : left_out_) {
      result_.left_out.push_back(fmt::format("{}: {}", fmt::join(names, "; "), reason));
    }
    if (result_.runnable.empty() && result_.left_out.empty()) {
      result_.left_out.push_back(nothing_left());
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool is_for_model(const StrategyRow& row) const {
    return shape_of(base_.model).experts > 0 || !row.traits.is_for_mixtures;
  }

  [[nodiscard]] std::string nothing_left() const {
    std::vector<std::string> words;
    if (!choice_.only.empty()) {
      words.push_back("--only " + choice_.only);
    }
    for (const auto& [name, text] : choice_.fixed.chosen) {
      words.push_back(fmt::format("--{} {}", name, text));
    }
    const std::string gpus = choice_.gpus == 1 ? "1 GPU" : fmt::format("{} GPUs", choice_.gpus);
    return words.size() == 1 ? fmt::format(
                                   "no row for {} has {}; leave it out, or give another "
                                   "number of GPUs (--gpus)",
                                   gpus, words.front())
                             : fmt::format(
                                   "no row for {} has {} together; leave out one of these, "
                                   "or give another number of GPUs (--gpus)",
                                   gpus, fmt::join(words, " and "));
  }

  void add_layouts(const StrategyRow& row, std::size_t kind) {
    for (const Layout& layout : layouts_) {
      if (row.takes(layout)) {
        add(row, kind, layout);
      }
    }
  }

  void add(const StrategyRow& row, std::size_t kind, const Layout& layout) {
    Candidate candidate{.strategy = &row, .kind = kind, .plan = base_};
    apply_layout(layout, candidate.plan);
    row.apply(candidate.plan);
    apply_settings(choice_.fixed, candidate.plan);
    const TrainingKind& training = training_kinds()[kind];
    if (!suits_grid(candidate.plan) || !training.applies(candidate.plan, row.states)) {
      return;
    }
    training.apply(candidate.plan, row.states);
    candidate.variations = possible_variations(candidate, base_, choice_);
    if (keeps_any_fixed(candidate)) {
      keep_runnable(candidate);
    }
    if (!candidate.variations.empty()) {
      time_variations(candidate, choice_.assumed);
      result_.runnable.push_back(std::move(candidate));
    }
  }

  /// Leaves the variations that have what is given; false if there were some, and none has it.
  [[nodiscard]] bool keeps_any_fixed(Candidate& candidate) const {
    const bool had_none = candidate.variations.empty();
    TrainingPlan plan = candidate.plan;
    if (!choice_.fixed.chosen.empty()) {
      std::erase_if(candidate.variations, [&](const Variation& each) {
        set_variation(each, plan);
        return !keeps_fixed(choice_.fixed, plan);
      });
    }
    return had_none || !candidate.variations.empty();
  }

  /// Rules ask about checkpoints and schedules, and hardly about sizes: whoever carries a variation
  /// out asks again.
  void keep_runnable(Candidate& candidate) {
    if (candidate.variations.empty()) {
      left_out_[fmt::format("the {} sequences of a step cannot be divided among the ranks; give "
                            "another --global-batch",
                            choice_.global_batch.value_or(0))]
          .emplace(candidate.strategy->name);
    }
    std::map<std::tuple<CheckpointKind, bool, LossKind>, bool> known;
    std::erase_if(candidate.variations, [&](const Variation& each) {
      const auto [place, is_new] =
          known.try_emplace({each.checkpoint.kind, each.chunks > 1, each.loss}, false);
      if (is_new) {
        place->second = is_runnable(candidate, each);
      }
      return !place->second;
    });
  }

  bool is_runnable(const Candidate& candidate, const Variation& variation) {
    const auto problems = obstacles(varied(candidate, variation));
    if (!problems.empty() && !is_optional(variation, candidate.plan)) {
      left_out_[problems.front()].emplace(candidate.strategy->name);
    }
    return problems.empty();
  }

  /// Another loss, selective recomputation and chunks are no strategies: a program without them
  /// lacks nothing.
  [[nodiscard]] bool is_optional(const Variation& variation, const TrainingPlan& plan) const {
    return is_last_resort(variation, plan) ||
           (base_.checkpoint.kind == CheckpointKind::none &&
            (variation.checkpoint.kind == CheckpointKind::selective_op ||
             variation.checkpoint.kind == CheckpointKind::selective_attention ||
             variation.chunks > 1));
  }

  const TrainingPlan& base_;
  const CandidateChoice& choice_;
  std::vector<Layout> layouts_;
  std::map<std::string, std::set<std::string_view>> left_out_;  // by reason, the strategies
  Candidates result_;
};

}  // namespace

void set_variation(const Variation& variation, TrainingPlan& plan) {
  plan.checkpoint = variation.checkpoint;
  plan.batch = variation.batch;
  plan.grad_accum = variation.grad_accum;
  plan.loss.kind = variation.loss;
  plan.keep_logits = variation.keeps_logits;
  if (plan.parallel.pp > 1) {
    const bool interleaves = variation.chunks > 1;
    plan.parallel.schedule =
        interleaves ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b;
    plan.parallel.chunks = interleaves ? variation.chunks : Parallelism{}.chunks;
  }
}

TrainingPlan varied(const Candidate& candidate, const Variation& variation) {
  TrainingPlan plan = candidate.plan;
  set_variation(variation, plan);
  return plan;
}

std::int64_t usual_global_batch(const TrainingPlan& plan, int gpus) {
  const std::int64_t tokens = std::min(kTokensOfStep, kTokensOfGpu * gpus);
  return std::max<std::int64_t>(1, tokens / std::max<std::int64_t>(1, sequence_length(plan, 0)));
}

Candidates candidates_for(const TrainingPlan& base, const CandidateChoice& choice) {
  return Collector(base, choice).collect();
}

}  // namespace highwater
