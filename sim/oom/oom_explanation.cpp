#include "sim/oom/oom_explanation.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "allocator/settings/constants.hpp"
#include "allocator/settings/settings_change.hpp"
#include "sim/edits/candidate_edits.hpp"
#include "sim/oom/trace_changes.hpp"
#include "sim/replay/sweep.hpp"
#include "sim/settings/settings_candidates.hpp"
#include "sim/settings/smallest_limit.hpp"

namespace highwater {
namespace {

using Kind = Counterfactual::Kind;

/// The most that the process could have reserved at that moment.
Bytes limit_of(const OutOfMemory& account) {
  const bool is_bounded = account.device_free < kUnlimited - account.reserved;
  return std::min(account.allowed,
                  is_bounded ? account.reserved + account.device_free : kUnlimited);
}

/// A limit that the program set itself, below what the device had for it.
bool is_refused_by_limit(const OutOfMemory& account) {
  return account.allowed < kUnlimited && account.device_free >= account.segment_size;
}

void add_free_memory(OomExplanation& explanation) {
  const OutOfMemory& account = explanation.state.account;
  if (account.largest_usable_free_block >= account.rounded) {
    explanation.came_free_too_late = account.largest_usable_free_block;
  }
  const PoolKind kind = account.rounded <= kSmallSize ? PoolKind::small : PoolKind::large;
  for (const PoolAccount& pool : account.pools) {
    explanation.pending += pool.pending_free;
    Bytes& part = !pool.owner.is_default()        ? explanation.free_private
                  : pool.kind != kind             ? explanation.free_other_pool
                  : pool.stream != account.stream ? explanation.free_other_stream
                                                  : explanation.free_same_place;
    part += pool.free;
  }
}

/// To the unit of all blocks: no setting can use less.
Bytes rounded_to_unit(Bytes request) {
  const std::uint64_t unit = kMinBlockSize.count();
  return Bytes{(request.count() + unit - 1) / unit * unit};
}

/// The requests of all blocks that the program holds, each rounded to that unit.
Bytes in_use(const MemoryMap& map) {
  Bytes sum;
  for (const MapSegment& segment : map.segments) {
    for (const MapBlock& block : segment.blocks) {
      if (block.state == BlockState::active_allocated) {
        sum += rounded_to_unit(block.requested);
      }
    }
  }
  return sum;
}

/// The most bytes alive at once, rounded likewise. Requests that are freed at once are left out:
/// the requests of a recording contain those that failed, which were never alive.
Bytes most_alive(const RequestTrace& trace) {
  std::vector<Bytes> sizes(trace.allocation_count);
  Bytes alive;
  Bytes most;
  AllocationId newest;
  for (const Event& event : trace.events) {
    if (newest.has_value() && !(event.kind == EventKind::free && event.allocation == newest)) {
      most = std::max(most, alive);
    }
    newest = event.kind == EventKind::alloc ? event.allocation : AllocationId{};
    if (event.kind == EventKind::alloc) {
      sizes[event.allocation.value()] = rounded_to_unit(event.bytes());
      alive += sizes[event.allocation.value()];
    } else if (event.kind == EventKind::free) {
      alive -= std::exchange(sizes[event.allocation.value()], Bytes{});
    }
  }
  return newest.has_value() ? std::max(most, alive) : most;
}

class Explainer {
 public:
  Explainer(const RequestTrace& trace, const ReplayOptions& options, const DeviceKnowledge& device,
            OomExplanation& explanation)
      : trace_(&trace), options_(options), device_(device), explanation_(&explanation) {
    options_.observer = nullptr;
    options_.decisions = DecisionDetail::none;
    options_.after_oom = AfterOom::stop;
  }

  void find_session() {
    explanation_->session = open_session(*trace_, explanation_->state.event);
    if (auto& session = explanation_->session) {
      session->holds_back |= options_.version->open_pool == OpenPool::holds_back;
      session->returnable = returnable(explanation_->state.map);
    }
  }

  void find_cause() { explanation_->cause = is_shortage() ? shortage() : obstacle(); }

  void find_remedies(std::size_t older_events) {
    try_settings();
    if (!is_shortage()) {
      try_empty_cache_before_session();
    }
    try_edits(older_events);
    try_freed_blocks();
    try_more_memory();
  }

 private:
  [[nodiscard]] const OutOfMemory& account() const { return explanation_->state.account; }

  [[nodiscard]] Bytes needed() const {
    return std::max(explanation_->in_use + rounded_to_unit(account().requested),
                    explanation_->most_alive);
  }

  [[nodiscard]] bool is_shortage() const { return needed() > explanation_->limit; }

  OomCause shortage() {
    if (device_.is_fraction || is_refused_by_limit(account())) {
      try_without_limit();
      return OomCause::memory_limit;
    }
    const bool fits_alone = device_.total && needed() <= *device_.total;
    const bool is_crowded = device_.outside.count() > needed().count() / 10;
    return fits_alone && is_crowded ? OomCause::outside_pytorch : OomCause::capacity;
  }

  /// What the replay does not fail without. Each is tried only where the trace has it.
  OomCause obstacle() {
    struct Obstacle {
      OomCause cause;
      Kind kind;
      Bytes amount;
      RequestTrace (*change)(const RequestTrace&);
    };

    const Obstacle obstacles[] = {
        {OomCause::pending_frees, Kind::no_stream_uses,
         std::max(explanation_->pending, explanation_->came_free_too_late), without_stream_uses},
        {OomCause::private_pool, Kind::no_private_pools, explanation_->free_private,
         without_private_pools},
        {OomCause::stream_isolation, Kind::one_stream, explanation_->free_other_stream,
         on_one_stream},
    };
    for (const Obstacle& obstacle : obstacles) {
      if (obstacle.amount == Bytes{0}) {
        continue;
      }
      if (try_change(obstacle.kind, obstacle.change(*trace_))) {
        return obstacle.cause;
      }
    }
    return OomCause::fragmentation;
  }

  bool try_change(Kind kind, const RequestTrace& changed) {
    return add(kind, replay(changed, options_)).serves;
  }

  void try_without_limit() {
    ReplayOptions free = options_;
    free.memory_limit.reset();
    free.fraction.reset();
    free.settings.per_process_memory_fraction.reset();
    free.limits = MemoryLimits::of_the_caller;
    add(Kind::no_limit, replay(*trace_, free));
  }

  /// One option changed at a time; kept are those that serve the request.
  void try_settings() {
    std::vector<ReplayOptions> cases;
    for (const OptionValues& option : candidate_values(*trace_, memory_bound(options_))) {
      for (const std::string& value : option.values) {
        ReplayOptions changed = options_;
        changed.settings = with_option(options_.settings, option.option, value, *options_.version);
        if (changed.settings != options_.settings) {
          cases.push_back(changed);
        }
      }
    }
    const std::vector<ReplayResult> results = sweep(*trace_, cases);
    std::vector<Counterfactual> found;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      Counterfactual trial = judged(Kind::settings, results[i]);
      trial.settings = cases[i].settings;
      if (trial.serves) {
        found.push_back(std::move(trial));
      }
    }
    std::ranges::stable_sort(found, std::ranges::greater{}, [](const Counterfactual& trial) {
      return std::pair(trial.survives, ~trial.peak->reserved.count());
    });
    std::ranges::move(found, std::back_inserter(explanation_->counterfactuals));
  }

  void try_empty_cache_before_session() {
    const auto& session = explanation_->session;
    if (session && session->holds_back && session->returnable > Bytes{}) {
      try_change(Kind::emptied_before, with_empty_cache_before(*trace_, session->begin));
    }
  }

  /// Changes of the program; kept are those that serve the request.
  void try_edits(std::size_t older_events) {
    for (const NamedEdit& candidate : candidate_edits(*trace_, older_events)) {
      if (!may_help(candidate.edit)) {
        continue;
      }
      EditedRun run{copy_of(*trace_), older_events};
      apply_edit(candidate.edit, run);
      const ReplayResult result = replay(run.trace, options_);
      Counterfactual trial = judged(Kind::edit, result, candidate.added);
      trial.edit = candidate.words;
      trial.edit_words = candidate.what;
      if (trial.serves) {
        explanation_->counterfactuals.push_back(std::move(trial));
      }
    }
  }

  /// A shortage ends only with fewer bytes alive.
  [[nodiscard]] bool may_help(const Edit& edit) const {
    if (is_shortage()) {
      return std::holds_alternative<ScaleSizes>(edit);
    }
    return !(has_tried_streams() && std::holds_alternative<DropRecordStreams>(edit));
  }

  [[nodiscard]] bool has_tried_streams() const {
    return std::ranges::count(explanation_->counterfactuals, Kind::no_stream_uses,
                              &Counterfactual::kind) != 0;
  }

  void try_freed_blocks() {
    const auto of_stack = freed_of_one_stack(*trace_, options_, explanation_->state);
    add_freed(of_stack);
    if (is_shortage()) {
      return;
    }
    const auto stretch = freed_stretch(*trace_, options_, explanation_->state);
    // Where stacks are unknown or one block suffices, both may find the same bytes.
    if (stretch && !(of_stack && of_stack->blocks.size() == stretch->blocks.size() &&
                     of_stack->bytes == stretch->bytes)) {
      add_freed(stretch);
    }
  }

  void add_freed(std::optional<FreedBlocks> freed) {
    if (freed) {
      Counterfactual trial;
      trial.kind = Kind::freed_blocks;
      trial.freed = std::move(*freed);
      trial.serves = true;
      explanation_->counterfactuals.push_back(std::move(trial));
    }
  }

  /// Enough for this request, and enough for the whole run where that is more.
  void try_more_memory() {
    ReplayOptions until = options_;
    until.last_event = explanation_->state.event;
    const auto for_request = smallest_limit(*trace_, until, explanation_->limit);
    if (!for_request) {
      return;
    }
    const bool survives = add_memory(*for_request);
    if (survives) {
      return;
    }
    if (const auto for_run = smallest_limit(*trace_, options_, *for_request)) {
      add_memory(*for_run);
    }
  }

  bool add_memory(Bytes limit) {
    Counterfactual& trial = add(Kind::more_memory, replay(*trace_, with_memory(options_, limit)));
    trial.bytes = limit - explanation_->limit;
    return trial.survives;
  }

  /// A changed trace keeps its operations' order, so the failure is compared by event only where
  /// no event was dropped; a failure at the same request has the same size and step.
  /// `added`: allocations that the run itself does not have, in front of it.
  [[nodiscard]] Counterfactual judged(Kind kind, const ReplayResult& result,
                                      std::uint64_t added = 0) const {
    Counterfactual trial;
    trial.kind = kind;
    trial.survives = result.counts.ooms == 0;
    trial.serves = trial.survives || result.counts.allocs > allocations_until_failure() + added;
    trial.peak = result.peak;
    return trial;
  }

  Counterfactual& add(Kind kind, const ReplayResult& result) {
    return explanation_->counterfactuals.emplace_back(judged(kind, result));
  }

  /// Requests up to the one that failed; a replay that made more of them got past it.
  [[nodiscard]] std::uint64_t allocations_until_failure() const {
    if (allocations_ == 0) {
      std::size_t position = 0;
      for (const Event& event : trace_->events) {
        allocations_ += event.kind == EventKind::alloc ? 1U : 0U;
        if (position++ == explanation_->state.event) {
          break;
        }
      }
    }
    return allocations_;
  }

  const RequestTrace* trace_;
  ReplayOptions options_;
  DeviceKnowledge device_;
  OomExplanation* explanation_;
  mutable std::uint64_t allocations_ = 0;
};

}  // namespace

std::string_view to_string(OomCause cause) {
  switch (cause) {
    case OomCause::capacity:
      return "capacity";
    case OomCause::memory_limit:
      return "memory limit";
    case OomCause::outside_pytorch:
      return "memory outside PyTorch";
    case OomCause::pending_frees:
      return "pending frees";
    case OomCause::stream_isolation:
      return "stream isolation";
    case OomCause::private_pool:
      return "private pool";
    case OomCause::fragmentation:
      return "fragmentation";
  }
  return "";
}

namespace {

/// What is known of the failure before anything else is replayed.
OomExplanation account_of(OomState state, const RequestTrace& trace) {
  OomExplanation explanation;
  explanation.state = std::move(state);
  explanation.limit = limit_of(explanation.state.account);
  explanation.in_use = in_use(explanation.state.map);
  explanation.most_alive = most_alive(trace);
  add_free_memory(explanation);
  return explanation;
}

}  // namespace

std::optional<OomExplanation> explain_out_of_memory(const RequestTrace& trace,
                                                    const ReplayOptions& options,
                                                    const DeviceKnowledge& device,
                                                    std::size_t older_events) {
  std::optional<OomState> state = first_out_of_memory(trace, options);
  if (!state) {
    return std::nullopt;
  }
  OomExplanation explanation = account_of(std::move(*state), trace);
  Explainer explainer(trace, options, device, explanation);
  explainer.find_session();
  explainer.find_cause();
  explainer.find_remedies(older_events);
  return explanation;
}

std::optional<OomCause> cause_of_first_failure(const RequestTrace& trace,
                                               const ReplayOptions& options,
                                               const DeviceKnowledge& device) {
  std::optional<OomState> state = first_out_of_memory(trace, options);
  if (!state) {
    return std::nullopt;
  }
  OomExplanation explanation = account_of(std::move(*state), trace);
  Explainer(trace, options, device, explanation).find_cause();
  return explanation.cause;
}

}  // namespace highwater
