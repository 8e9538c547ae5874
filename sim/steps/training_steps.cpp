#include "sim/steps/training_steps.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include "sim/steps/evenly_spaced.hpp"
#include "sim/steps/repetition.hpp"
#include "sim/steps/request_sequence.hpp"

namespace highwater {
namespace {

constexpr std::size_t kShortestStep = 4;  // requests; shorter repetitions are loops, not steps

/// Steps between the events `cuts`; the last one ends with the trace when `open` says so.
enum class Tail { left_out, open };

void add_spans(const std::vector<std::size_t>& cuts, std::size_t events, Tail tail, Steps& steps) {
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    steps.steps.push_back({cuts[i], cuts[i + 1], i, true});
  }
  if (tail == Tail::open && !cuts.empty() && cuts.back() < events) {
    steps.steps.push_back({cuts.back(), events, cuts.size() - 1, false});
  }
}

std::size_t requests_in(const StepSpan& span, const RequestSequence& sequence) {
  return sequence.request_at(span.end) - sequence.request_at(span.begin);
}

std::size_t median_requests(const Steps& steps, const RequestSequence& sequence) {
  std::vector<std::size_t> counts;
  for (const StepSpan& span : steps.steps) {
    if (span.complete) {
      counts.push_back(requests_in(span, sequence));
    }
  }
  if (counts.empty()) {
    return 0;
  }
  const auto middle = counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 2);
  std::ranges::nth_element(counts, middle);
  return *middle;
}

/// A last step with nearly as many requests as the others has been recorded to its end.
void judge_last(Steps& steps, const RequestSequence& sequence) {
  if (!steps.steps.empty()) {
    StepSpan& last = steps.steps.back();
    last.complete = steps.steps.size() == 1 ||
                    requests_in(last, sequence) * 20 >= median_requests(steps, sequence) * 19;
  }
}

std::optional<Steps> from_markers(const RequestTrace& trace, const RequestSequence& sequence) {
  std::vector<std::size_t> cuts;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (trace.events[i].kind == EventKind::step) {
      cuts.push_back(i);
    }
  }
  if (cuts.empty()) {
    return std::nullopt;
  }
  Steps steps{.source = StepSource::markers, .confidence = 1};
  add_spans(cuts, trace.events.size(), Tail::open, steps);
  for (StepSpan& span : steps.steps) {
    span.number = trace.events[span.begin].value;
  }
  judge_last(steps, sequence);
  return steps;
}

std::optional<Steps> from_boundaries(std::span<const std::size_t> boundaries, std::size_t events,
                                     const RequestSequence& sequence) {
  if (boundaries.empty()) {
    return std::nullopt;
  }
  Steps steps{.source = StepSource::boundaries, .confidence = 1};
  add_spans({boundaries.begin(), boundaries.end()}, events, Tail::open, steps);
  judge_last(steps, sequence);
  return steps;
}

bool is_optimizer_frame(const SideTables& tables, const Frame& frame) {
  const std::string_view file = tables.strings[frame.file];
  if (file.find("lr_scheduler") != std::string_view::npos) {
    return false;
  }
  return file.find("torch/optim/") != std::string_view::npos ||
         (file.find("optim") != std::string_view::npos && tables.strings[frame.function] == "step");
}

/// By StackId: whether an optimizer made the request.
std::vector<bool> optimizer_stacks(const SideTables& tables) {
  std::vector<bool> result(tables.stacks.stack_count());
  for (std::size_t s = 0; s < result.size(); ++s) {
    result[s] = std::ranges::any_of(tables.stacks.stack(StackId{s}), [&](FrameId frame) {
      return is_optimizer_frame(tables, tables.stacks.frame(frame));
    });
  }
  return result;
}

/// The requests that directly follow a run of an optimizer's requests for memory that it gives
/// back: states are made in the first step only, or before a recording began. Runs that are much
/// nearer to one another than others (parameter groups) are one.
std::vector<std::size_t> behind_optimizer(const RequestTrace& trace,
                                          const RequestSequence& sequence) {
  const std::vector<bool> is_optimizer = optimizer_stacks(trace.tables);
  if (std::ranges::find(is_optimizer, true) == is_optimizer.end()) {
    return {};
  }
  const std::vector<std::uint32_t>& freed_at = sequence.lives().freed_at;
  std::vector<std::size_t> made;
  for (std::size_t r = 0; r < sequence.size(); ++r) {
    const StackId stack = trace.events[sequence.event(r)].stack;
    if (freed_at[r] != RequestSequence::kNever && stack.has_value() &&
        stack.index() < is_optimizer.size() && is_optimizer[stack.index()]) {
      made.push_back(r);
    }
  }
  std::size_t widest = 0;
  for (std::size_t i = 1; i < made.size(); ++i) {
    widest = std::max(widest, made[i] - made[i - 1]);
  }
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (i + 1 == made.size() || (made[i + 1] - made[i]) * 4 > widest) {
      ends.push_back(made[i] + 1);
    }
  }
  return widest < kShortestStep ? std::vector<std::size_t>{} : ends;
}

std::optional<Steps> from_optimizer(const RequestTrace& trace, const RequestSequence& sequence) {
  if (!sequence.has_stacks()) {
    return std::nullopt;
  }
  const std::vector<std::size_t> ends = behind_optimizer(trace, sequence);
  if (ends.size() < 2) {
    return std::nullopt;
  }
  // The first forward requests come on top of what a step leaves behind: cut at the least alive
  // within an eighth of a step, which is after zero_grad if that comes first.
  std::vector<std::size_t> cuts;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::size_t next = i + 1 < ends.size() ? ends[i + 1] : sequence.size();
    const std::size_t last = std::min(sequence.size(), ends[i] + (next - ends[i]) / 8 + 1);
    cuts.push_back(ends[i] < sequence.size() ? sequence.event(sequence.lowest_live(ends[i], last))
                                             : trace.events.size());
  }
  Steps steps{.source = StepSource::optimizer};
  add_spans(cuts, trace.events.size(), Tail::open, steps);
  return steps;
}

/// The place in the period before which the least is alive, on average over whole periods.
std::size_t lowest_phase(const Repetition& run, const RequestSequence& sequence) {
  const std::vector<std::uint64_t>& live_before = sequence.lives().live_before;
  const std::size_t periods = run.length() / run.period;
  std::size_t lowest = 0;
  double least = 0;
  for (std::size_t phase = 0; phase < run.period; ++phase) {
    double sum = 0;
    for (std::size_t k = 0; k < periods; ++k) {
      sum += static_cast<double>(live_before[run.begin + k * run.period + phase]);
    }
    if (phase == 0 || sum < least) {
      lowest = phase;
      least = sum;
    }
  }
  return lowest;
}

std::optional<Steps> from_repetition(std::span<const std::uint32_t> symbols,
                                     const RequestSequence& sequence, std::size_t events) {
  const std::optional<Repetition> run = longest_repetition(symbols);
  if (!run || run->period < kShortestStep || run->length() * 2 < symbols.size()) {
    return std::nullopt;
  }
  const auto event_of = [&](std::size_t request) {
    return request < sequence.size() ? sequence.event(request) : events;
  };
  std::vector<std::size_t> cuts;
  for (std::size_t r = run->begin + lowest_phase(*run, sequence); r <= run->end; r += run->period) {
    cuts.push_back(event_of(r));
  }
  Steps steps{.source = StepSource::repetition};
  add_spans(cuts, events, run->end == sequence.size() ? Tail::open : Tail::left_out, steps);
  return steps.steps.empty() ? std::nullopt : std::optional(std::move(steps));
}

std::optional<Steps> from_even_spacing(const RequestSequence& sequence) {
  std::vector<std::size_t> marks = evenly_spaced(sequence.by_size());
  if (marks.empty()) {
    return std::nullopt;
  }
  std::vector<std::size_t> cuts;
  for (std::size_t i = 0; i + 1 < marks.size(); ++i) {
    cuts.push_back(sequence.event(sequence.lowest_live(marks[i] + 1, marks[i + 1] + 1)));
  }
  Steps steps{.source = StepSource::evenly_spaced};
  add_spans(cuts, 0, Tail::left_out, steps);
  return steps;
}

/// Whether more than a quarter of what a step takes at its highest stays behind: more is alive at
/// its end than at its begin, or its own blocks outlive the step after it.
bool keeps(const RequestTrace& trace, const StepSpan& span, std::size_t step_after,
           const RequestSequence& sequence) {
  const std::size_t first = sequence.request_at(span.begin);
  const std::size_t next = sequence.request_at(span.end);
  const RequestLives& lives = sequence.lives();
  const auto live = lives.live_before.begin();
  const std::uint64_t highest = *std::max_element(live + static_cast<std::ptrdiff_t>(first),
                                                  live + static_cast<std::ptrdiff_t>(next) + 1);
  const std::uint64_t begin = lives.live_before[first];
  const std::uint64_t end = lives.live_before[next];
  std::uint64_t left = 0;
  for (std::size_t r = first; r < next; ++r) {
    left += lives.freed_at[r] > step_after ? trace.events[sequence.event(r)].value : 0;
  }
  const std::uint64_t quarter = (highest - begin) / 4;
  return left > quarter || (end > begin && end - begin > quarter);
}

/// Steps give back most of what they take; layers keep it, as activations or as gradients.
bool gives_back(const RequestTrace& trace, const Steps& steps, const RequestSequence& sequence) {
  std::size_t keeping = 0;
  std::size_t judged = 0;
  for (std::size_t s = 0; s < steps.steps.size(); ++s) {
    if (steps.steps[s].complete && sequence.request_at(steps.steps[s].end) < sequence.size()) {
      const bool is_followed = s + 1 < steps.steps.size() && steps.steps[s + 1].complete;
      const std::size_t step_after =
          is_followed ? sequence.request_at(steps.steps[s + 1].end) : RequestSequence::kNever;
      keeping += keeps(trace, steps.steps[s], step_after, sequence) ? 1U : 0U;
      ++judged;
    }
  }
  return keeping * 2 <= judged;
}

/// The share of all requests that equal the one at the same place in the step before.
double repeated_share(const Steps& steps, const RequestSequence& sequence) {
  std::size_t equal = 0;
  for (std::size_t s = 0; s < steps.steps.size(); ++s) {
    const std::size_t first = sequence.request_at(steps.steps[s].begin);
    const std::size_t count = requests_in(steps.steps[s], sequence);
    if (s == 0) {
      equal += count;
      continue;
    }
    const std::size_t before = sequence.request_at(steps.steps[s - 1].begin);
    const std::size_t comparable = std::min(count, first - before);
    for (std::size_t i = 0; i < comparable; ++i) {
      equal += sequence.alike(first + i, before + i) ? 1U : 0U;
    }
  }
  return sequence.size() == 0 ? 0.0
                              : static_cast<double>(equal) / static_cast<double>(sequence.size());
}

std::optional<Steps> found_steps(const RequestTrace& trace, const RequestSequence& sequence) {
  const auto by_size = [&] {
    return from_repetition(sequence.by_size(), sequence, trace.events.size());
  };
  const auto by_stack = [&] {
    return from_repetition(sequence.by_stack(), sequence, trace.events.size());
  };
  const std::array<std::function<std::optional<Steps>()>, 4> sources{
      [&] { return from_optimizer(trace, sequence); }, by_size, by_stack,
      [&] { return from_even_spacing(sequence); }};
  for (const auto& source : sources) {
    std::optional<Steps> steps = source();
    if (steps && gives_back(trace, *steps, sequence)) {
      steps->confidence = repeated_share(*steps, sequence);
      return steps;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(StepSource source) {
  switch (source) {
    case StepSource::markers:
      return "markers";
    case StepSource::boundaries:
      return "boundaries";
    case StepSource::optimizer:
      return "optimizer";
    case StepSource::repetition:
      return "repetition";
    case StepSource::evenly_spaced:
      return "landmarks";
    case StepSource::none:
      break;
  }
  return "none";
}

Steps find_steps(const RequestTrace& trace, std::span<const std::size_t> boundaries) {
  if (trace.events.size() >= RequestSequence::kNever) {
    return {};
  }
  const RequestSequence sequence(trace);
  std::optional<Steps> steps = from_markers(trace, sequence);
  if (!steps) {
    steps = from_boundaries(boundaries, trace.events.size(), sequence);
  }
  if (!steps) {
    steps = found_steps(trace, sequence);
  }
  if (!steps) {
    return {};
  }
  steps->allocations_per_step = median_requests(*steps, sequence);
  return std::move(*steps);
}

}  // namespace highwater
