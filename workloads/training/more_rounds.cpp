#include "workloads/training/more_rounds.hpp"

#include <algorithm>
#include <vector>

#include "workloads/plan/pipeline/model_split.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

/// The first makes gradients, the second frees what led to them, and two are told to be alike by
/// what lies before the last forward pass.
constexpr int kRounds = 5;

constexpr std::string_view kForward = "forward";

/// The first events of a step's forward passes, and of the next step.
struct StepMarks {
  std::vector<std::size_t> forwards;
  std::size_t end = 0;
};

std::vector<StepMarks> marks_of(const RequestTrace& trace) {
  std::vector<StepMarks> steps;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    if (event.kind == EventKind::step) {
      if (!steps.empty()) {
        steps.back().end = i;
      }
      steps.emplace_back();
    } else if (!steps.empty() && event.kind == EventKind::phase &&
               trace.tables.strings[event.text()] == kForward) {
      steps.back().forwards.push_back(i);
    }
  }
  if (!steps.empty()) {
    steps.back().end = trace.events.size();
  }
  return steps;
}

bool refers(const Event& event) {
  return event.kind == EventKind::free || event.kind == EventKind::record_stream;
}

/// Whether `event` is `earlier` a round later: what a round made is numbered on, what is older than
/// all rounds stays.
bool is_alike(Event earlier, const Event& event, std::uint32_t shift) {
  if (earlier == event) {
    return earlier.kind != EventKind::alloc;
  }
  if (!earlier.allocation.has_value()) {
    return false;
  }
  earlier.allocation = AllocationId{earlier.allocation.value() + shift};
  return earlier == event;
}

class RoundFinder {
 public:
  RoundFinder(const RequestTrace& trace, const StepMarks& marks, std::size_t forwards)
      : trace_(trace), marks_(marks), forwards_(forwards) {}

  /// The round before the last forward pass of the step, which the rounds before it are like.
  /// Nothing if it may not be repeated.
  [[nodiscard]] std::optional<RepeatedRound> find() const {
    if (marks_.forwards.size() <= 2 * forwards_) {
      return std::nullopt;
    }
    RepeatedRound round = last_round();
    std::size_t alike = round.begin;
    while (has_alike_before(round, alike)) {
      alike -= round.length();
    }
    const AllocationId first = first_allocation(alike);
    if (alike == round.begin || !leaves_nothing(round) || !frees_only_alike(round, first)) {
      return std::nullopt;
    }
    round.numbered_back = {numbered_back(round, first)};
    return round;
  }

 private:
  [[nodiscard]] RepeatedRound last_round() const {
    const std::size_t last = marks_.forwards.size() - 1;
    RepeatedRound round{.begin = marks_.forwards[last - forwards_], .end = marks_.forwards[last]};
    for (std::size_t i = round.begin; i < round.end; ++i) {
      round.allocations += trace_.events[i].kind == EventKind::alloc ? 1U : 0U;
    }
    return round;
  }

  /// Whether the events before `alike` are those of the round behind it.
  [[nodiscard]] bool has_alike_before(const RepeatedRound& round, std::size_t alike) const {
    const std::size_t length = round.length();
    if (alike < marks_.forwards.front() + length) {
      return false;
    }
    for (std::size_t i = alike - length; i < alike; ++i) {
      if (!is_alike(trace_.events[i], trace_.events[i + length], round.allocations)) {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] AllocationId first_allocation(std::size_t from) const {
    while (from < trace_.events.size() && trace_.events[from].kind != EventKind::alloc) {
      ++from;
    }
    return from < trace_.events.size() ? trace_.events[from].allocation
                                       : AllocationId{trace_.allocation_count};
  }

  /// All that the rounds that are alike allocated, by one round.
  [[nodiscard]] NumberedBack numbered_back(const RepeatedRound& round, AllocationId first) const {
    const AllocationId from{first.value() + round.allocations};
    return {from, first, first_allocation(round.end).value() - from.value()};
  }

  [[nodiscard]] bool leaves_nothing(const RepeatedRound& round) const {
    std::size_t frees = 0;
    for (std::size_t i = round.begin; i < round.end; ++i) {
      frees += trace_.events[i].kind == EventKind::free ? 1U : 0U;
    }
    return frees == round.allocations;
  }

  /// What a round frees was made by rounds that are alike; settings and pools stay as they are.
  [[nodiscard]] bool frees_only_alike(const RepeatedRound& round, AllocationId first_alike) const {
    for (std::size_t i = round.begin; i < round.end; ++i) {
      const Event& event = trace_.events[i];
      const bool is_older = refers(event) && event.allocation < first_alike;
      if (is_older && event.kind == EventKind::free) {
        return false;
      }
    }
    return true;
  }

  const RequestTrace& trace_;
  const StepMarks& marks_;
  std::size_t forwards_;
};

/// Goes through the events of a trace, some of them several times, with allocations numbered on.
class Lengthening {
 public:
  explicit Lengthening(const RequestTrace& trace) : trace_(trace) {}

  /// Gives each event to `take`, which says whether to go on.
  template <class Take>
  bool run(const std::vector<RepeatedRound>& rounds, Take take) {
    for (const RepeatedRound& round : rounds) {
      if (!go_up_to(round.end, take) || !repeat(round, take)) {
        return false;
      }
    }
    return go_up_to(trace_.events.size(), take);
  }

 private:
  /// What was made from `first` on is numbered on.
  struct Shift {
    AllocationId first;
    std::uint32_t by = 0;
  };

  template <class Take>
  bool go_up_to(std::size_t end, Take& take) {
    while (next_ < end) {
      if (!take(numbered(trace_.events[next_++]))) {
        return false;
      }
    }
    return true;
  }

  /// The round that came last, again and again.
  template <class Take>
  bool repeat(const RepeatedRound& round, Take& take) {
    shifts_.push_back({round.numbered_back.front().to, 0});
    for (std::size_t i = 0; i < round.times; ++i) {
      shifts_.back().by += round.allocations;
      for (std::size_t e = round.begin; e < round.end; ++e) {
        if (!take(numbered(trace_.events[e]))) {
          return false;
        }
      }
    }
    return true;
  }

  [[nodiscard]] Event numbered(Event event) const {
    if (event.allocation.has_value()) {
      std::uint32_t by = 0;
      for (const Shift& shift : shifts_) {
        by += event.allocation >= shift.first ? shift.by : 0U;
      }
      event.allocation = AllocationId{event.allocation.value() + by};
    }
    return event;
  }

  const RequestTrace& trace_;
  std::vector<Shift> shifts_;
  std::size_t next_ = 0;
};

std::size_t allocations_of(const RequestTrace& trace, const std::vector<RepeatedRound>& rounds) {
  std::size_t count = trace.allocation_count;
  for (const RepeatedRound& round : rounds) {
    count += round.times * round.allocations;
  }
  return count;
}

/// Micro-batches of a round: an interleaved pipeline takes as many as it has stages through its
/// first chunk before it goes on.
int round_of(const Parallelism& p) {
  return model_chunks(p) > 1 ? p.pp : 1;
}

/// The events of other streams complete after numbers of kernels that are counted over all rounds.
bool has_like_rounds(const TrainingPlan& plan) {
  const Parallelism& p = plan.parallel;
  return plan.seq.size() == 1 && !evaluates(plan.evaluation) &&
         plan.grad_accum % round_of(p) == 0 && p.event_lag == 0 && p.event_queries == 0;
}

}  // namespace

std::optional<ShortRuns> short_runs(const TrainingPlan& plan) {
  const Parallelism& p = plan.parallel;
  if (!has_like_rounds(plan)) {
    return std::nullopt;
  }
  ShortRuns runs{.round = round_of(p)};
  runs.fewer = (p.pp > 1 ? 2 * p.pp : 0) + kRounds * runs.round;
  const bool is_less_work = 5 * (runs.fewer + runs.more()) < 4 * plan.grad_accum;
  return is_less_work ? std::optional(runs) : std::nullopt;
}

std::optional<std::vector<RepeatedRound>> repeated_rounds(const RequestTrace& trace,
                                                          std::size_t forwards_of_round,
                                                          std::size_t rounds) {
  std::vector<RepeatedRound> repeated;
  for (const StepMarks& marks : marks_of(trace)) {
    std::optional<RepeatedRound> round = RoundFinder(trace, marks, forwards_of_round).find();
    if (!round) {
      return std::nullopt;
    }
    round->times = rounds;
    repeated.push_back(*round);
  }
  return repeated;
}

RunEvents lengthened(const RequestTrace& trace, const std::vector<RepeatedRound>& rounds) {
  RunEvents longer{.allocation_count = allocations_of(trace, rounds)};
  Lengthening(trace).run(rounds, [&](const Event& event) {
    longer.events.push_back(event);
    return true;
  });
  return longer;
}

std::optional<std::size_t> forwards_of_micro_batch(const RequestTrace& trace, int micro_batches) {
  const std::vector<StepMarks> steps = marks_of(trace);
  const auto count = static_cast<std::size_t>(micro_batches);
  const auto is_like_first = [&](const StepMarks& marks) {
    return marks.forwards.size() == steps.front().forwards.size();
  };
  if (steps.empty() || steps.front().forwards.size() % count != 0 ||
      !std::ranges::all_of(steps, is_like_first)) {
    return std::nullopt;
  }
  const std::size_t forwards = steps.front().forwards.size() / count;
  return forwards > 0 ? std::optional(forwards) : std::nullopt;
}

bool is_lengthened(const RequestTrace& trace, const std::vector<RepeatedRound>& rounds,
                   const RequestTrace& longer) {
  std::size_t next = 0;
  const auto is_next = [&](const Event& event) {
    return next < longer.events.size() && event == longer.events[next++];
  };
  return allocations_of(trace, rounds) == longer.allocation_count &&
         Lengthening(trace).run(rounds, is_next) && next == longer.events.size();
}

}  // namespace highwater
