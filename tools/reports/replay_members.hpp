// The keys of what `replay` found, for every command that prints a replay.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tools/json/members.hpp"
#include "tools/reports/replay_report.hpp"
#include "tools/studies/gate/budget.hpp"
#include "tools/studies/runs/replay_run.hpp"

namespace highwater {

template <>
struct Members<Usage> {
  static constexpr auto kRows = std::to_array({
      member<&Usage::requested>("requested_bytes", "asked for by the program, over active blocks",
                                "requested"),
      member<&Usage::allocated>("allocated_bytes", "blocks handed out", "allocated"),
      member<&Usage::active>("active_bytes",
                             "blocks handed out and those that wait for other streams", "active"),
      member<&Usage::reserved>("reserved_bytes", "taken from the device", "reserved"),
  });
};

/// Two of the four figures, at the moment of the highest reserved.
struct UsageAtPeakReserved {
  Bytes allocated;
  Bytes active;
};

template <>
struct Members<UsageAtPeakReserved> {
  static constexpr auto kRows = std::to_array({
      member<&UsageAtPeakReserved::allocated>("allocated_bytes", "blocks handed out",
                                              "allocated at peak reserved"),
      member<&UsageAtPeakReserved::active>(
          "active_bytes", "blocks handed out and those that wait for other streams",
          "active at peak reserved"),
  });
};

template <>
struct Members<ReplayCounts> {
  static constexpr auto kRows = std::to_array({
      member<&ReplayCounts::allocs>("allocs", "allocation requests", "allocations"),
      member<&ReplayCounts::frees>("frees", "free requests", "frees"),
      member<&ReplayCounts::device_alloc>("device_alloc", "segments allocated and ranges mapped",
                                          "device allocations"),
      member<&ReplayCounts::device_free>("device_free", "segments freed and ranges unmapped",
                                         "device frees"),
      member<&ReplayCounts::segment_map>("segment_map", "ranges of expandable segments mapped",
                                         "ranges mapped"),
      member<&ReplayCounts::segment_unmap>(
          "segment_unmap", "ranges of expandable segments unmapped", "ranges unmapped"),
      member<&ReplayCounts::alloc_retries>(
          "alloc_retries",
          "requests for which the device had no room before the cache had been released",
          "retries after releasing the cache"),
      member<&ReplayCounts::ooms>("ooms", "requests that failed", "out of memory"),
  });
};

struct ReplayCounters {
  ReplayCounts counts;
  std::uint64_t refused_empty_caches = 0;
};

template <>
struct Members<ReplayCounters> {
  static constexpr auto kRows = std::to_array({
      members_of<&ReplayCounters::counts>(),
      member<&ReplayCounters::refused_empty_caches>(
          "refused_empty_caches",
          "calls of empty_cache inside a pool session, which PyTorch refuses"),
  });
};

template <>
struct Members<Fragmentation> {
  static constexpr auto kRows = std::to_array({
      member<&Fragmentation::peak>("peak", "1 - peak active / peak reserved",
                                   "fragmentation (1 - peak active / peak reserved)"),
      member<&Fragmentation::at_peak_reserved>(
          "at_peak_reserved", "1 - active / reserved, at the moment of the highest reserved",
          "unused share at peak reserved"),
      member<&Fragmentation::free>("final_free_bytes", "reserved and not active, at the end",
                                   "free at the end"),
      member<&Fragmentation::free_in_split>(
          "final_free_in_split_bytes",
          "free blocks of segments in use, which empty_cache keeps, at the end",
          "  pinned in segments in use"),
      member<&Fragmentation::free_whole>(
          "final_free_whole_bytes", "free whole segments, which empty_cache returns, at the end",
          "  in whole free segments"),
      member<&Fragmentation::largest_free_block>("final_largest_free_block_bytes",
                                                 "the largest free block at the end",
                                                 "  largest free block"),
      member<&Fragmentation::rounding>(
          "final_rounding_bytes", "sizes of active blocks minus what was asked for, at the end",
          "lost to rounding at the end"),
      member<&Fragmentation::dispersion>(
          "final_dispersion", "1 - sum(block^2) / sum(block)^2 over free blocks at the end",
          "dispersion of free memory at the end"),
  });
};

struct ReplayedEvents {
  std::uint64_t read = 0;
  std::uint64_t replayed = 0;
  std::uint64_t repeated = 0;
  std::uint64_t dropped = 0;
};

template <>
struct Members<ReplayedEvents> {
  static constexpr auto kRows = std::to_array({
      member<&ReplayedEvents::read>("read", "events of the file"),
      member<&ReplayedEvents::replayed>("replayed", "operations carried out, markers not counted"),
      member<&ReplayedEvents::repeated>(
          "repeated", "of these, operations of steps that repeat an earlier one, counted only"),
      member<&ReplayedEvents::dropped>("dropped", "events that could not be replayed"),
  });
};

template <>
struct Members<Divergence> {
  static constexpr auto kRows = std::to_array({
      member<&Divergence::entry>("entry", "index into the recorded device_traces of the device"),
      member<&Divergence::description>(
          "description", "what was recorded, what the model did, what was free around it"),
  });
};

template <>
struct Members<Fidelity> {
  static constexpr auto kRows = std::to_array({
      member<&Fidelity::segment_events_recorded>("segment_events_recorded",
                                                 "recorded segments taken, mapped and given back"),
      member<&Fidelity::segment_events_matched>("segment_events_matched",
                                                "of these, decided alike by the model"),
      member<&Fidelity::alloc_addresses_compared>("alloc_addresses_compared",
                                                  "recorded addresses of allocations"),
      member<&Fidelity::alloc_addresses_matched>("alloc_addresses_matched",
                                                 "of these, the same in the model"),
      member<&Fidelity::final_segments_compared>("final_segments_compared",
                                                 "segments of the final snapshot"),
      member<&Fidelity::final_segments_matched>(
          "final_segments_matched", "of these, the same in the model, with all their blocks"),
      member<&Fidelity::initial_blocks_doubtful>(
          "initial_blocks_doubtful", "blocks older than the recording whose size is uncertain",
          "older blocks of uncertain size"),
      member<&Fidelity::resyncs>("resyncs",
                                 "times the recorded state was put in place of the model's",
                                 "corrections from the recording"),
      member<&Fidelity::snapshots_checked>("snapshots_checked",
                                           "earlier snapshots of the recording"),
      member<&Fidelity::snapshots_matched>("snapshots_matched",
                                           "of these, with the same active bytes in the model"),
      member<&Fidelity::peak_reserved_recorded>(
          "peak_reserved_recorded_bytes", "the highest reserved memory that the recording shows",
          "peak reserved as recorded"),
      member<&Fidelity::first_divergence>("first_divergence",
                                          "the first decision that differs; null: none does"),
  });
};

/// What one owner's pools hold.
template <>
struct Members<PoolShare> {
  static constexpr auto kRows = std::to_array({
      member<[](const PoolShare& of) {
        return std::vector<std::uint64_t>{of.owner.capture, of.owner.user};
      }>("owner", "the private pool as PyTorch numbers it; [0, 0]: the common pools"),
      member<&PoolShare::at_peak>("at_peak_bytes",
                                  "taken from the device when the highest reserved was reached"),
      member<&PoolShare::final>("final_bytes", "taken from the device at the end"),
      member<&PoolShare::allocated>("final_allocated_bytes", "in blocks handed out at the end"),
  });
};

/// The figures of one device.
template <>
struct Members<DeviceReplay> {
  static constexpr auto kRows = std::to_array({
      member<&DeviceReplay::device>("device", "number of the CUDA device"),
      member<[](const DeviceReplay& of) { return of.result.peak; }>(
          "peak", "the highest values of the run, each at its own moment", "peak"),
      member<[](const DeviceReplay& of) {
        return UsageAtPeakReserved{of.result.at_peak_reserved.allocated,
                                   of.result.at_peak_reserved.active};
      }>("at_peak_reserved", "when the highest reserved was reached first"),
      member<[](const DeviceReplay& of) { return of.result.final; }>("final", "at the end",
                                                                     "final"),
      member<[](const DeviceReplay& of) {
        return ReplayCounters{of.result.counts, of.result.refused_empty_caches};
      }>("counts", "how often what happened"),
      member<[](const DeviceReplay& of) { return of.result.fragmentation; }>(
          "fragmentation", "reserved memory that the program did not use"),
      member<[](const DeviceReplay& of) { return to_conf(of.settings); }>(
          "settings", "PYTORCH_CUDA_ALLOC_CONF of the replay"),
      member<[](const DeviceReplay& of) { return of.version->name; }>(
          "torch", "the PyTorch release whose allocator was modelled"),
      member_if_known<&DeviceReplay::torch_detected>("torch_detected",
                                                     "the release that the recording shows"),
      member<&DeviceReplay::capacity>("capacity_bytes",
                                      "memory that the allocator can have; null: unlimited",
                                      "device capacity"),
      member_if_known<&DeviceReplay::memory_limit>(
          "memory_limit_bytes", "limit of the process, as a size", "memory limit"),
      member_if_known<&DeviceReplay::memory_fraction>(
          "memory_fraction", "limit of the process, as a share of the device", "memory fraction"),
      member<[](const DeviceReplay& of) {
        return ReplayedEvents{of.events_read, of.result.operations, of.result.operations_repeated,
                              of.events_dropped};
      }>("events", "what the file holds and what was done with it"),
      member<&DeviceReplay::truncated>("truncated",
                                       "whether the recording's ring buffer had overflowed"),
      member_if_known<&DeviceReplay::own_settings_error>(
          "own_settings_error",
          "of a recording under other settings, or edited: what its requests under the recorded "
          "ones come to, / recorded peak reserved - 1",
          "error under the recorded settings"),
      member_if_known<&DeviceReplay::fidelity>(
          "fidelity", "the recording replayed as it was, compared decision by decision"),
  });
};

/// What one pool holds on one stream.
struct PoolLine {
  PoolAccount account;
  std::uint64_t stream = 0;
};

template <>
struct Members<PoolLine> {
  static constexpr auto kRows = std::to_array({
      member<[](const PoolLine& of) {
        return std::string_view(of.account.kind == PoolKind::small ? "small" : "large");
      }>("pool", "small: blocks up to 1 MiB; or large"),
      member<[](const PoolLine& of) {
        return std::vector<std::uint64_t>{of.account.owner.capture, of.account.owner.user};
      }>("owner", "the private pool as PyTorch numbers it; [0, 0]: the default pool"),
      member<&PoolLine::stream>("stream", "handle of the CUDA stream"),
      member<[](const PoolLine& of) { return of.account.reserved; }>("reserved_bytes",
                                                                     "taken from the device"),
      member<[](const PoolLine& of) { return of.account.allocated; }>("allocated_bytes",
                                                                      "blocks handed out"),
      member<[](const PoolLine& of) { return of.account.pending_free; }>(
          "pending_free_bytes", "freed by the program, waiting for other streams"),
      member<[](const PoolLine& of) { return of.account.free; }>("free_bytes", "cached"),
      member<[](const PoolLine& of) { return of.account.largest_free_block; }>(
          "largest_free_block_bytes", "the largest cached block"),
  });
};

/// One failed allocation, with what the device had where that is known.
struct OomLine {
  std::uint64_t operation = 0;
  OutOfMemory account;
  std::optional<Bytes> device_free;
  std::optional<Bytes> allowed;
  std::vector<PoolLine> pools;
};

template <>
struct Members<OomLine> {
  static constexpr auto kRows = std::to_array({
      member<&OomLine::operation>("operation", "number of the operation that failed"),
      member<[](const OomLine& of) { return of.account.requested; }>("requested_bytes",
                                                                     "asked for by the program"),
      member<[](const OomLine& of) { return of.account.rounded; }>("rounded_bytes",
                                                                   "the block that it needs"),
      member<[](const OomLine& of) { return of.account.segment_size; }>(
          "segment_bytes", "what was asked of the device"),
      member<&OomLine::device_free>("device_free_bytes",
                                    "free on the device; null: its capacity is not known"),
      member<&OomLine::allowed>("allowed_bytes", "limit of the process; null: none"),
      member<[](const OomLine& of) { return of.account.reserved; }>("reserved_bytes",
                                                                    "taken from the device"),
      member<[](const OomLine& of) { return of.account.allocated; }>("allocated_bytes",
                                                                     "blocks handed out"),
      member<[](const OomLine& of) { return of.account.active; }>(
          "active_bytes", "blocks handed out and those that wait for other streams"),
      member<[](const OomLine& of) { return of.account.largest_free_block; }>(
          "largest_free_block_bytes", "the largest cached block of all pools and streams"),
      member<[](const OomLine& of) { return of.account.largest_usable_free_block; }>(
          "largest_usable_free_block_bytes",
          "the largest cached block in the pool and stream of the request"),
      member<&OomLine::pools>("pools", "what each pool holds on each stream"),
  });
};

OomLine oom_line(const OomRecord& record, const DeviceReplay& replay);

/// The first failures of a replay.
std::vector<OomLine> oom_lines(const DeviceReplay& replay);

/// One decision of the allocator, as the conformance vectors write it.
struct DecisionLine {
  std::uint64_t operation = 0;
  std::string_view action;
  Address address;
  Bytes bytes;
  std::uint64_t stream = 0;
};

template <>
struct Members<DecisionLine> {
  static constexpr auto kRows = std::to_array({
      member<&DecisionLine::operation>("operation", "number of the operation that caused it"),
      member<&DecisionLine::action>("action", "what the allocator did"),
      member<[](const DecisionLine& of) { return of.address.value(); }>("address",
                                                                        "address on the device"),
      member<&DecisionLine::bytes>("bytes", "size of the block or segment"),
      member<&DecisionLine::stream>("stream", "handle of the CUDA stream"),
  });
};

/// Those of the replay; nothing where they were not kept.
std::optional<std::vector<DecisionLine>> decisions_of(const DeviceReplay& replay);

/// A replay with its lists.
struct ListedReplay {
  const DeviceReplay* replay;
};

template <>
struct Members<ListedReplay> {
  static constexpr auto kRows = std::to_array({
      members_of<[](const ListedReplay& of) -> const DeviceReplay& { return *of.replay; }>(),
      member<[](const ListedReplay& of) { return oom_lines(*of.replay); }>(
          "ooms", "the first allocations that failed, 16 at most"),
      member<[](const ListedReplay& of) { return of.replay->result.ooms.size(); }>(
          "ooms_listed", "how many of counts.ooms are listed"),
      member<[](const ListedReplay& of) { return replay_notes(*of.replay); }>(
          "notes", "what a reader of the numbers should know"),
      member<[](const ListedReplay& of) { return of.replay->result.pools; }>(
          "pools", "bytes by pool: the common ones first, then each private one"),
      member_if_known<[](const ListedReplay& of) { return decisions_of(*of.replay); }>(
          "decisions", "every decision of the allocator, with --decisions"),
  });
};

template <>
struct Members<BudgetVerdict> {
  static constexpr auto kRows = std::to_array({
      member<&BudgetVerdict::is_kept>("is_kept", "whether the run stays within all limits"),
      member<&BudgetVerdict::exceeded>("exceeded", "one sentence for each limit that it exceeds"),
  });
};

}  // namespace highwater
