// The keys of what `explain` says, of a workload and of the messages in a log.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/json/members.hpp"
#include "tools/reports/explain_sentences.hpp"
#include "tools/reports/messages/message_members.hpp"
#include "tools/reports/replay_members.hpp"
#include "tools/studies/explanation/explain_run.hpp"

namespace highwater {

template <>
struct Members<PlaceHolder> {
  static constexpr auto kRows = std::to_array({
      member<&PlaceHolder::origin>("site", "a line of the program"),
      member<&PlaceHolder::held>("bytes", "what it holds"),
      member<&PlaceHolder::blocks>("blocks", "in so many blocks"),
  });
};

template <>
struct Members<ReplayBar> {
  static constexpr auto kRows = std::to_array({
      member<&ReplayBar::reserved>("reserved_bytes", "taken from the device, at most"),
      member<&ReplayBar::ran_out>("ran_out", "whether it ran out of memory"),
  });
};

template <>
struct Members<FourBars> {
  static constexpr auto kRows = std::to_array({
      member<[](const FourBars& of) { return of.bound.live; }>(
          "live_bytes", "the most requested bytes alive at once"),
      member<[](const FourBars& of) { return of.bound.live_rounded; }>(
          "live_rounded_bytes", "the same with each request rounded up to 512 bytes"),
      member<[](const FourBars& of) { return of.bound.packed; }>(
          "packed_bytes", "a placement of all blocks, known in advance"),
      member<[](const FourBars& of) { return of.bound.gap(); }>(
          "packing_gap", "the share by which that may exceed the best placement"),
      member<&FourBars::expandable>("expandable", "these settings with expandable segments"),
      member<&FourBars::standard>("default", "default settings"),
      member<&FourBars::own>("own", "these settings"),
      member<&FourBars::most_to_win>("most_to_win_bytes", "the most that any allocator could save"),
  });
};

template <>
struct Members<Growth> {
  static constexpr auto kRows = std::to_array({
      member<&Growth::per_step>("bytes_per_step", "the median slope"),
      member<&Growth::low>("low", "of the 95 % interval"),
      member<&Growth::high>("high", "of the 95 % interval"),
  });
};

template <>
struct Members<Forecast> {
  static constexpr auto kRows = std::to_array({
      member<&Forecast::limit>("limit_bytes", "that memory grows towards"),
      member<&Forecast::steps>("steps", "until then, counted from the last complete one"),
      member<&Forecast::earliest>("earliest", "by the high end of the growth"),
      member<&Forecast::latest>("latest", "by the low end"),
  });
};

struct LeakLine {
  std::string site;
  const LeakSite* leak = nullptr;
};

template <>
struct Members<LeakLine> {
  static constexpr auto kRows = std::to_array({
      member<&LeakLine::site>("site", "the line that makes the blocks"),
      member<[](const LeakLine& of) { return of.leak->left.held; }>(
          "bytes", "that earlier steps have left, when the last complete one ends"),
      member<[](const LeakLine& of) { return of.leak->left.blocks; }>("blocks",
                                                                      "in so many blocks"),
      member<[](const LeakLine& of) { return of.leak->steps; }>("steps", "that left some"),
      member<[](const LeakLine& of) { return of.leak->bytes_per_step; }>("bytes_per_step",
                                                                         "on average"),
  });
};

struct PendingLine {
  std::string site;
  const PendingFree* block = nullptr;
};

template <>
struct Members<PendingLine> {
  static constexpr auto kRows = std::to_array({
      member<&PendingLine::site>("site", "the line that made the block"),
      member<[](const PendingLine& of) { return of.block->size; }>("bytes", "its size"),
      member<[](const PendingLine& of) { return of.block->operation; }>(
          "freed_at_operation", "number of the operation that freed it"),
      member<[](const PendingLine& of) { return of.block->age; }>("age_operations",
                                                                  "operations since then"),
  });
};

/// What changes from step to step.
struct Drift {
  const Explanation* of = nullptr;

  [[nodiscard]] std::optional<Forecast> forecast() const;
  [[nodiscard]] std::vector<LeakLine> leaks() const;
  [[nodiscard]] std::vector<PendingLine> pending() const;
};

template <>
struct Members<Drift> {
  static constexpr auto kRows = std::to_array({
      member<[](const Drift& d) { return to_string(d.of->growth.verdict); }>("verdict",
                                                                             "in one or two words"),
      member<[](const Drift& d) { return d.of->growth.steps.size(); }>("steps",
                                                                       "that were reached"),
      member<[](const Drift& d) { return to_string(d.of->steps.source); }>("steps_from",
                                                                           "how steps were found"),
      member<[](const Drift& d) { return d.of->steps.confidence; }>("confidence",
                                                                    "in them, from 0 to 1"),
      member<[](const Drift& d) { return d.of->growth.reserved; }>(
          "reserved", "growth of the highest reserved of a step"),
      member<[](const Drift& d) { return d.of->growth.peak; }>(
          "allocated_peak", "growth of the highest allocated of a step"),
      member<[](const Drift& d) { return d.of->growth.end; }>(
          "allocated_end", "growth of what is allocated where steps end"),
      member<&Drift::forecast>("forecast",
                               "when memory ends; null: it does not grow, or no limit is known"),
      member<&Drift::leaks>("leaks", "lines whose blocks stay, most bytes first"),
      member<&Drift::pending>("pending_frees", "blocks that wait for other streams, oldest first"),
      member<[](const Drift& d) { return d.of->growth.pending_bytes; }>("pending_bytes",
                                                                        "their sum"),
  });
};

/// One change that was replayed.
struct TrialLine {
  const Explanation* of = nullptr;
  const Counterfactual* trial = nullptr;

  [[nodiscard]] bool is(Counterfactual::Kind kind) const { return trial->kind == kind; }

  template <class Value>
  [[nodiscard]] std::optional<Value> if_freed(Value value) const {
    return is(Counterfactual::Kind::freed_blocks) ? std::optional(std::move(value)) : std::nullopt;
  }

  [[nodiscard]] std::optional<Bytes> bytes() const;
  [[nodiscard]] std::optional<std::vector<PlaceHolder>> sites() const;
};

template <>
struct Members<TrialLine> {
  static constexpr auto kRows = std::to_array({
      member<[](const TrialLine& of) { return to_string(of.trial->kind); }>("kind",
                                                                            "what was changed"),
      member<[](const TrialLine& of) { return of.trial->serves; }>(
          "serves", "whether the request that failed succeeds"),
      member<[](const TrialLine& of) { return of.trial->survives; }>(
          "survives", "whether nothing fails after it; false where that is not known"),
      member<[](const TrialLine& of) { return counterfactual_text(*of.of, *of.trial); }>(
          "text", "in a sentence"),
      member_if_known<[](const TrialLine& of) {
        return of.is(Counterfactual::Kind::settings) ? std::optional(to_conf(of.trial->settings))
                                                     : std::nullopt;
      }>("conf", "PYTORCH_CUDA_ALLOC_CONF, of other settings"),
      member_if_known<[](const TrialLine& of) {
        return of.is(Counterfactual::Kind::edit) ? std::optional(of.trial->edit) : std::nullopt;
      }>("edit", "as for --edit, of a change of the program"),
      member_if_known<[](const TrialLine& of) {
        return of.if_freed(of.trial->freed.blocks.size());
      }>("blocks", "that would have had to be freed"),
      member_if_known<&TrialLine::bytes>("bytes", "of these, or of additional memory"),
      member_if_known<&TrialLine::sites>("sites", "the lines that hold these"),
      member_if_known<[](const TrialLine& of) {
        return of.trial->peak ? std::optional(of.trial->peak->reserved) : std::nullopt;
      }>("peak_reserved_bytes", "the highest reserved of the replay"),
  });
};

/// Where memory was free when the request failed.
struct FreeParts {
  const OomExplanation* of = nullptr;
};

template <>
struct Members<FreeParts> {
  static constexpr auto kRows = std::to_array({
      member<[](const FreeParts& f) { return f.of->free_same_place; }>(
          "same_place_bytes", "in the pool and on the stream of the request"),
      member<[](const FreeParts& f) { return f.of->free_other_stream; }>(
          "other_streams_bytes", "in its pool, on other streams"),
      member<[](const FreeParts& f) { return f.of->free_other_pool; }>(
          "other_pools_bytes", "in the pool for blocks of the other size"),
      member<[](const FreeParts& f) { return f.of->free_private; }>("private_pools_bytes",
                                                                    "in private pools"),
      member<[](const FreeParts& f) { return f.of->pending; }>(
          "pending_bytes", "freed by the program, waiting for other streams"),
  });
};

/// An open private pool.
template <>
struct Members<OpenSession> {
  static constexpr auto kRows = std::to_array({
      member<[](const OpenSession& s) {
        return std::vector<std::uint64_t>{s.pool.capture, s.pool.user};
      }>("pool", "as PyTorch numbers it"),
      member<&OpenSession::is_capture>("is_capture", "whether a CUDA graph was being captured"),
      member<&OpenSession::holds_back>("holds_back",
                                       "whether PyTorch gives no cached memory back meanwhile"),
      member<&OpenSession::returnable>(
          "returnable_bytes",
          "cached in whole segments of the common pools, which an empty_cache "
          "before the session gives back"),
  });
};

/// The failure that is explained; only of workloads that have one.
struct OomPart {
  const Explanation* of = nullptr;

  [[nodiscard]] const OomState& state() const { return of->oom->state; }
};

template <>
struct Members<OomPart> {
  static constexpr auto kRows = std::to_array({
      members_of<[](const OomPart& o) {
        return oom_line({o.state().operation, o.state().account}, o.of->workload.replay);
      }>(),
      member<[](const OomPart& o) { return o.state().event; }>("event", "number of the request"),
      member<[](const OomPart& o) { return o.of->workload.site(o.state().stack); }>(
          "site", "the line that asked"),
      member<[](const OomPart& o) { return o.state().step; }>("step",
                                                              "of training; null: not known"),
      member<[](const OomPart& o) { return o.state().phase; }>("phase",
                                                               "of the step; empty: not known"),
      member<[](const OomPart& o) { return o.of->oom->limit; }>(
          "limit_bytes", "the most that the process could have reserved"),
      member<[](const OomPart& o) { return FreeParts{&*o.of->oom}; }>(
          "free", "where memory was free at that moment"),
      member<[](const OomPart& o) { return o.of->oom->session; }>(
          "session", "the private pool that was open then; null: none"),
  });
};

/// What is said of one device.
struct ExplainedDevice {
  const Explanation* of = nullptr;

  [[nodiscard]] std::optional<std::string_view> cause() const;
  [[nodiscard]] std::vector<TrialLine> trials() const;
};

template <>
struct Members<ExplainedDevice> {
  using Device = ExplainedDevice;
  static constexpr auto kRows = std::to_array({
      member<[](const Device& d) { return d.of->workload.name; }>("subject",
                                                                  "the file or the plan"),
      member<[](const Device& d) { return d.of->workload.replay.device; }>(
          "device", "number of the CUDA device"),
      member<[](const Device& d) { return explain_verdict(*d.of); }>("verdict", "in a sentence"),
      member<[](const Device& d) { return d.of->workload.has_history(); }>(
          "history", "whether it has requests, and not only a state"),
      member<&Device::cause>("cause", "of the failure; null: nothing fails"),
      member<[](const Device& d) { return d.of->is_reproduced; }>(
          "reproduced", "whether a replay fails where the recording did; null: that did not fail"),
      member<&Device::trials>("counterfactuals", "changes that were replayed"),
      member_if_known<[](const Device& d) {
        return d.of->workload.is_plan() ? std::optional(d.of->cures) : std::nullopt;
      }>("cures", "changes of the plan with which it fits"),
      member<[](const Device& d) {
        return d.of->oom ? std::optional(OomPart{d.of}) : std::nullopt;
      }>("oom", "the failure; null: nothing fails"),
      member<[](const Device& d) { return d.of->workload.replay.result.peak.reserved; }>(
          "peak_reserved_bytes", "taken from the device, at most"),
      member<[](const Device& d) { return d.of->workload.replay.result.peak.allocated; }>(
          "peak_allocated_bytes", "blocks handed out, at most"),
      member<[](const Device& d) { return d.of->workload.replay.result.pools; }>(
          "pools", "bytes by pool: the common ones first, then each private one"),
      member<[](const Device& d) { return d.of->holders; }>(
          "holders", "who held memory at the failure, or at the peak; most first"),
      member<[](const Device& d) { return d.of->pinned; }>(
          "pinned", "who pinned free memory at that moment; most first"),
      member<[](const Device& d) { return d.of->blame.pinned; }>("pinned_bytes",
                                                                 "free memory pinned then"),
      member<[](const Device& d) { return d.of->blame.byte_operations; }>(
          "pinned_byte_operations", "the same summed over all operations"),
      member<[](const Device& d) { return d.of->bars; }>(
          "bounds", "what any allocator needs for these requests"),
      member<[](const Device& d) { return Drift{d.of}; }>("drift",
                                                          "what changes from step to step"),
      member<[](const Device& d) { return to_conf(d.of->workload.options.settings); }>(
          "settings", "PYTORCH_CUDA_ALLOC_CONF of the replay"),
      member_if_known<[](const Device& d) { return d.of->workload.replay.own_settings_error; }>(
          "own_settings_error",
          "of a recording: what its requests under the recorded settings come to, / recorded peak "
          "reserved - 1"),
      member<[](const Device& d) { return replay_notes(d.of->workload.replay); }>(
          "notes", "what a reader of the numbers should know"),
      member<[](const Device& d) { return d.of->workload.trust(); }>(
          "trust", "how far the answer can be trusted, in a sentence"),
  });
};

/// What `explain` answers: of a file or a plan its devices, of a log its messages.
struct ExplainAnswer {
  std::vector<ExplainedDevice> devices;
  std::vector<JudgedMessage> messages;
};

template <>
struct Members<ExplainAnswer> {
  static constexpr auto kRows = std::to_array({
      member<&ExplainAnswer::devices>("devices", "of a snapshot, a trace or a plan"),
      member<&ExplainAnswer::messages>("messages", "of errors in a log, each different one once"),
  });
};

}  // namespace highwater
