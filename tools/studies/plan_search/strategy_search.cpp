#include "tools/studies/plan_search/strategy_search.hpp"

#include <algorithm>
#include <mutex>
#include <queue>
#include <thread>
#include <tuple>

#include <fmt/format.h>

#include "sim/replay/parallel.hpp"
#include "tools/studies/plan_search/least_memory.hpp"
#include "tools/studies/plan_search/memory_trial.hpp"
#include "tools/text/progress_line.hpp"
#include "traces/error.hpp"
#include "workloads/training/outside_memory.hpp"

namespace highwater {
namespace {

/// How much of a device the allocator gets in a job of the plan's size.
Bytes allocator_share(const TrainingPlan& plan, Bytes device) {
  return device - std::min(device, outside_memory(plan).total());
}

Bytes without_margin(Bytes memory, double margin) {
  return Bytes{static_cast<std::uint64_t>(static_cast<double>(memory.count()) * (1 - margin))};
}

/// What is sharded over data-parallel ranks.
int sharding_of(DataParallel kind) {
  switch (kind) {
    case DataParallel::ddp:
    case DataParallel::zero0:
      return 0;
    case DataParallel::zero1:
      return 1;
    case DataParallel::zero2:
      return 2;
    case DataParallel::zero3:
    case DataParallel::fsdp1:
    case DataParallel::fsdp2:
      return 3;
  }
  return 0;
}

/// How a job is divided, whatever program does it.
auto division_of(const Candidate& candidate) {
  const Parallelism& p = candidate.plan.parallel;
  return std::tuple(candidate.kind, sharding_of(p.dp_kind), p.dp, p.tp, p.pp, p.cp, p.ep,
                    p.fsdp.replicas, p.tp_kind >= TensorParallel::colossalai_2d, p.offload,
                    p.zero.offload_ratio, p.zero.optimizer_device, p.gemini.placement);
}

using Division = decltype(division_of(Candidate{}));

bool has_axes_of(const Parallelism& p, const Parallelism& q) {
  return p.tp == q.tp && p.pp == q.pp && p.ep == q.ep;
}

/// Whether the candidate only cuts the sequences of `row` into more parts.
bool cuts_sequences_more(const Candidate& candidate, const StrategyResult& row) {
  const Parallelism& p = candidate.plan.parallel;
  const Parallelism& q = row.plan.parallel;
  return candidate.strategy == row.strategy && p.cp > q.cp && has_axes_of(p, q);
}

/// Whether the candidate only moves to the host what `row` has on the GPU.
bool offloads_more(const Candidate& candidate, const StrategyResult& row) {
  const Parallelism& p = candidate.plan.parallel;
  const Parallelism& q = row.plan.parallel;
  return p.offload != Offload::none && q.offload == Offload::none && has_axes_of(p, q) &&
         p.cp == q.cp && sharding_of(p.dp_kind) <= sharding_of(q.dp_kind);
}

/// Whether `row`, which is as fast, leaves no reason to try the candidate.
bool is_needless_beside(const Candidate& candidate, const StrategyResult& row) {
  return candidate.kind == row.kind &&
         (cuts_sequences_more(candidate, row) || offloads_more(candidate, row));
}

/// How much checkpointing keeps, where two kinds can be compared.
bool keeps_no_less(const Checkpoint& a, const Checkpoint& b) {
  return a.kind == b.kind || a.kind == CheckpointKind::none || b.kind == CheckpointKind::full;
}

/// More chunks keep less than few, and all more than one.
bool has_no_fewer_in_flight(int a, int b) {
  return b == 1 || (a > 1 && a <= b);
}

/// Whether `a` needs at least what `b` does.
bool needs_no_less(const Variation& a, const Variation& b) {
  return a.batch >= b.batch && keeps_no_less(a.checkpoint, b.checkpoint) &&
         has_no_fewer_in_flight(a.chunks, b.chunks);
}

/// A candidate whose variations are tried one by one.
struct Open {
  std::size_t candidate = 0;
  std::size_t next = 0;           ///< variation
  std::vector<Variation> failed;  ///< simulated
};

class BestFirst {
 public:
  BestFirst(const SearchRequest& request, std::vector<Candidate> candidates)
      : request_(request), candidates_(std::move(candidates)), progress_(0, "plans simulated") {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      open_.push(Entry{key(i, 0), {.candidate = i}});
    }
  }

  void run(StrategySearch& found) {
    while (!has_enough()) {
      std::vector<Open> batch = next_batch();
      if (batch.empty()) {
        break;
      }
      carry_out(batch);
    }
    finish(found);
  }

 private:
  /// Kind of training, seconds per sequence, and the place in the table among equals.
  using Key = std::tuple<std::size_t, double, std::size_t>;

  struct Entry {
    Key key;
    Open open;

    bool operator<(const Entry& other) const { return key > other.key; }  // the least on top
  };

  struct Found {
    Key key;
    Division division;
    StrategyResult result;
  };

  [[nodiscard]] Key key(std::size_t candidate, std::size_t variation) const {
    const Candidate& c = candidates_[candidate];
    return {c.kind, c.variations[variation].seconds, candidate};
  }

  /// As many that fit as were asked for, all before whatever is still open.
  [[nodiscard]] bool has_enough() const {
    const auto before = [&](const Found& each) {
      return open_.empty() || each.key < open_.top().key;
    };
    return static_cast<std::size_t>(std::ranges::count_if(found_, before)) >= request_.options.rows;
  }

  [[nodiscard]] Bytes limit_of(const TrainingPlan& plan) const {
    return without_margin(allocator_share(plan, request_.device), request_.options.margin);
  }

  /// The first variation from `next` on that may fit.
  void skip_impossible(Open& open) const {
    const Candidate& c = candidates_[open.candidate];
    TrainingPlan plan = c.plan;
    const Bytes limit = limit_of(plan);
    for (; open.next < c.variations.size(); ++open.next) {
      const Variation& each = c.variations[open.next];
      set_variation(each, plan);
      const bool is_dominated = std::ranges::any_of(
          open.failed, [&](const Variation& other) { return needs_no_less(each, other); });
      if (!is_dominated && least_memory(plan) <= limit && plan_problems(plan).empty()) {
        return;
      }
    }
  }

  void push(Open open) {
    if (open.next < candidates_[open.candidate].variations.size()) {
      const Key at = key(open.candidate, open.next);
      open_.push(Entry{at, std::move(open)});
    }
  }

  /// The best that are open, one for each core.
  std::vector<Open> next_batch() {
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    std::vector<Open> batch;
    while (batch.size() < cores && !open_.empty()) {
      Open open = open_.top().open;
      open_.pop();
      const std::size_t before = open.next;
      skip_impossible(open);
      if (open.next != before) {
        push(std::move(open));  // another may come first now
      } else if (!joins_a_row(open)) {
        batch.push_back(std::move(open));
      }
    }
    return batch;
  }

  /// The same division by another program is mentioned beside the row that there is, and what only
  /// adds a cost to a row that is as fast is left out.
  bool joins_a_row(const Open& open) {
    const Candidate& candidate = candidates_[open.candidate];
    if (std::ranges::any_of(found_, [&](const Found& each) {
          return is_needless_beside(candidate, each.result);
        })) {
      return true;
    }
    const auto row = std::ranges::find(found_, division_of(candidate), &Found::division);
    if (row == found_.end()) {
      return false;
    }
    row->result.also.push_back(candidate.strategy->name);
    return true;
  }

  /// Most of what does not fit shows it in a part; a row's peak is that of the whole.
  void carry_out(std::vector<Open>& batch) {
    std::vector<std::optional<MemoryTrial>> parts(batch.size());
    simulated_ += batch.size();
    progress_.show(simulated_);
    for_each_index(batch.size(),
                   [&](std::size_t i) { parts[i] = simulated(batch[i], TrialExtent::part); });
    for (std::size_t i = 0; i < batch.size(); ++i) {
      settle(std::move(batch[i]), parts[i]);
    }
  }

  /// Absent where PyTorch's own code would fail.
  std::optional<MemoryTrial> simulated(const Open& open, TrialExtent extent) {
    const Candidate& candidate = candidates_[open.candidate];
    const TrainingPlan plan = varied(candidate, candidate.variations[open.next]);
    MemoryRequest memory = request_.memory;
    memory.capacity = allocator_share(plan, request_.device);
    try {
      return try_memory(plan, memory, limit_of(plan), extent);
    } catch (const InputError& error) {
      const std::lock_guard lock(failures_lock_);
      failures_.push_back(fmt::format("{}: {}", candidate.strategy->name, error.what()));
      return std::nullopt;
    }
  }

  void settle(Open open, std::optional<MemoryTrial> trial) {
    if (trial && trial->fits) {
      if (joins_a_row(open)) {
        return;
      }
      trial = simulated(open, TrialExtent::whole);
    }
    if (!trial) {
      return;
    }
    if (trial->fits) {
      found_.push_back({key(open.candidate, open.next), division_of(candidates_[open.candidate]),
                        row_of(open, *trial)});
    } else {
      try_next(std::move(open));
    }
  }

  void try_next(Open open) {
    open.failed.push_back(candidates_[open.candidate].variations[open.next]);
    ++open.next;
    skip_impossible(open);
    push(std::move(open));
  }

  StrategyResult row_of(const Open& open, const MemoryTrial& trial) const {
    const Candidate& c = candidates_[open.candidate];
    StrategyResult row{.strategy = c.strategy, .kind = c.kind};
    row.plan = varied(c, c.variations[open.next]);
    row.time = step_time(row.plan);
    row.capacity = allocator_share(row.plan, request_.device);
    row.peak = trial.peak;
    row.fits = trial.fits;
    row.refused = refused_before(c, open.next);
    return row;
  }

  /// The fastest that does not fit and is no more than a step away.
  static std::optional<Variation> refused_before(const Candidate& candidate, std::size_t fitting) {
    const Variation& fits = candidate.variations[fitting];
    for (std::size_t i = 0; i < fitting; ++i) {
      const Variation& each = candidate.variations[i];
      const bool is_near = each.batch <= 2 * fits.batch && each.chunks == fits.chunks;
      if (is_near && each.seconds < fits.seconds) {
        return each;
      }
    }
    return std::nullopt;
  }

  void finish(StrategySearch& found) {
    std::ranges::sort(found_, {}, &Found::key);
    for (Found& each : found_) {
      if (found.results.size() < request_.options.rows) {
        found.results.push_back(std::move(each.result));
      }
    }
    if (found.results.empty()) {
      add_smallest(found);
    }
    found.simulated += simulated_;
    std::ranges::move(failures_, std::back_inserter(found.left_out));
  }

  /// Where nothing fits: what needs least of each candidate, and how much that is.
  void add_smallest(StrategySearch& found) {
    std::vector<Open> smallest;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      smallest.push_back({.candidate = i, .next = smallest_variation(candidates_[i])});
    }
    std::ranges::stable_sort(smallest, {}, [this](const Open& open) {
      const Candidate& c = candidates_[open.candidate];
      return least_memory(varied(c, c.variations[open.next]));
    });
    smallest.resize(std::min(smallest.size(), request_.options.rows));
    for (const Open& open : smallest) {
      if (std::optional<StrategyResult> row = needed_by(open)) {
        found.results.push_back(std::move(*row));
      }
    }
    std::ranges::stable_sort(found.results, {}, &StrategyResult::peak);
  }

  static std::size_t smallest_variation(const Candidate& candidate) {
    const auto smallest =
        std::ranges::min_element(candidate.variations, {}, [&](const Variation& each) {
          return std::pair(least_memory(varied(candidate, each)), -each.seconds);
        });
    return static_cast<std::size_t>(smallest - candidate.variations.begin());
  }

  std::optional<StrategyResult> needed_by(const Open& open) {
    const Candidate& candidate = candidates_[open.candidate];
    const TrainingPlan plan = varied(candidate, candidate.variations[open.next]);
    MemoryRequest memory = request_.memory;
    memory.capacity.reset();
    ++simulated_;
    try {
      MemoryTrial trial = try_memory(plan, memory, Bytes{UINT64_MAX}, TrialExtent::whole);
      trial.fits = false;
      return row_of(open, trial);
    } catch (const InputError&) {
      return std::nullopt;
    }
  }

  const SearchRequest& request_;
  std::vector<Candidate> candidates_;
  std::priority_queue<Entry> open_;
  std::vector<Found> found_;
  std::vector<std::string> failures_;  ///< of PyTorch's own code
  std::mutex failures_lock_;
  std::size_t simulated_ = 0;
  ProgressLine progress_;
};

/// The kinds of training from `least` to `most`, as one search.
StrategySearch search_kinds(const SearchRequest& request, std::size_t least, std::size_t most) {
  StrategySearch found;
  Candidates candidates = candidates_for(
      request.run.plan,
      {request.gpus, request.options.global_batch, request.options.only, least, most});
  found.left_out = std::move(candidates.left_out);
  found.candidates = candidates.runnable.size();
  for (const Candidate& each : candidates.runnable) {
    found.variations += each.variations.size();
  }
  BestFirst(request, std::move(candidates.runnable)).run(found);
  return found;
}

}  // namespace

StrategySearch search_strategies(const SearchRequest& request) {
  StrategySearch found;
  if (request.options.most_given_up) {
    found = search_kinds(request, 0, *request.options.most_given_up);
  } else {
    found = search_kinds(request, 0, 0);
    if (!found.found()) {
      StrategySearch lesser = search_kinds(request, 1, training_kinds().size() - 1);
      found = found.results.empty() || lesser.found() ? std::move(lesser) : std::move(found);
    }
  }
  found.global_batch =
      request.options.global_batch.value_or(usual_global_batch(request.run.plan, request.gpus));
  return found;
}

}  // namespace highwater
