#include "tools/reports/replay_report.hpp"

#include <algorithm>
#include <array>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "allocator/settings/constants.hpp"
#include "tools/reports/edit_report.hpp"
#include "tools/reports/replay_members.hpp"
#include "tools/studies/runs/own_settings.hpp"
#include "tools/text/safe_text.hpp"

namespace highwater {
namespace {

/// Nothing is known about the device when neither the user nor a recording tells its capacity.
std::optional<Bytes> device_free(const DeviceReplay& replay, const OutOfMemory& oom) {
  return replay.capacity || replay.fidelity ? std::optional(oom.device_free) : std::nullopt;
}

std::optional<Bytes> allowed(const OutOfMemory& oom) {
  return oom.allowed == kUnlimited ? std::nullopt : std::optional(oom.allowed);
}

/// What stands in the way: the device's free memory, the limit of the process, or both.
std::string room(const DeviceReplay& replay, const OutOfMemory& oom) {
  std::string text;
  if (const auto free = device_free(replay, oom)) {
    text += fmt::format(", which has {} free", to_iec(*free));
  }
  if (const auto limit = allowed(oom)) {
    const Bytes more = *limit - std::min(*limit, oom.reserved);
    text += fmt::format("{} the memory limit allows {} more", text.empty() ? "," : ", and",
                        to_iec(more));
  }
  return text;
}

}  // namespace

OomLine oom_line(const OomRecord& record, const DeviceReplay& replay) {
  OomLine line{record.operation,
               record.account,
               device_free(replay, record.account),
               allowed(record.account),
               {}};
  for (const PoolAccount& pool : record.account.pools) {
    line.pools.push_back({pool, replay.stream_handles[pool.stream.index()]});
  }
  return line;
}

std::vector<OomLine> oom_lines(const DeviceReplay& replay) {
  std::vector<OomLine> lines;
  for (const OomRecord& record : replay.result.ooms) {
    lines.push_back(oom_line(record, replay));
  }
  return lines;
}

std::optional<std::vector<DecisionLine>> decisions_of(const DeviceReplay& replay) {
  if (replay.result.decisions.empty()) {
    return std::nullopt;
  }
  std::vector<DecisionLine> lines;
  for (const auto& [operation, decision] : replay.result.decisions) {
    lines.push_back({operation, to_string(decision.action), decision.address, decision.size,
                     replay.stream_handles[decision.stream.index()]});
  }
  return lines;
}

MetricList replay_metrics(const DeviceReplay& replay) {
  MetricList list;
  add_metrics(replay, {}, list);
  return list;
}

boost::json::object replay_json(const DeviceReplay& replay) {
  return object_json(ListedReplay{&replay});
}

std::string replay_verdict(const DeviceReplay& replay) {
  const ReplayResult& result = replay.result;
  if (!result.ooms.empty()) {
    const OomRecord& first = result.ooms.front();
    return fmt::format("OUT OF MEMORY at operation {}: {} requested, {} in use, {} reserved{}",
                       first.operation, to_iec(first.account.requested),
                       to_iec(first.account.active), to_iec(first.account.reserved),
                       result.counts.ooms > 1
                           ? fmt::format("; {} requests failed in all", result.counts.ooms)
                           : "");
  }
  const std::string available =
      replay.capacity ? fmt::format(" of {} available", to_iec(*replay.capacity)) : "";
  return fmt::format("{} reserved at most{}, {} of it in use at that moment",
                     to_iec(result.peak.reserved), available,
                     to_iec(result.at_peak_reserved.active));
}

std::string private_pools_line(const ReplayResult& result) {
  const PrivateShare share = private_share(result.pools);
  if (share.at_peak == Bytes{} && share.final == Bytes{}) {
    return "";
  }
  return fmt::format("reserved by private pools: {} of the peak, {} at the end",
                     to_iec(share.at_peak), to_iec(share.final));
}

void add_first_line(const DeviceReplay& replay, Report& report) {
  if (const std::optional<std::string> line = uncertainty(replay)) {
    report.paragraph(*line);
  }
}

void add_private_pools(const ReplayResult& result, Report& report) {
  if (const std::string line = private_pools_line(result); !line.empty()) {
    report.line(line);
  }
}

void add_notes(const DeviceReplay& replay, Report& report) {
  for (const std::string& note : notes_below(replay)) {
    report.line("note: " + note);
  }
}

std::vector<std::string> replay_notes(const DeviceReplay& replay) {
  std::vector<std::string> notes = notes_below(replay);
  if (const std::optional<std::string> first = uncertainty(replay)) {
    notes.insert(notes.begin(), *first);
  }
  return notes;
}

std::vector<std::string> notes_below(const DeviceReplay& replay) {
  std::vector<std::string> notes =
      replay.edited ? edit_notes(*replay.edited) : std::vector<std::string>{};
  notes.insert(notes.end(), replay.notes.begin(), replay.notes.end());
  if (const std::uint64_t refused = replay.result.refused_empty_caches; refused > 0) {
    notes.push_back(fmt::format(
        "{} empty_cache {} inside a pool session: PyTorch {} asserts there, so nothing was "
        "released",
        refused, refused == 1 ? "call" : "calls", replay.version->name));
  }
  if (const std::uint64_t repeated = replay.result.operations_repeated; repeated > 0) {
    notes.push_back(fmt::format(
        "{} of {} operations repeat a step before them, with the same requests in the same state "
        "of the allocator: they were counted, with the same result as if carried out",
        repeated, replay.result.operations));
  }
  return notes;
}

std::string describe_ooms(const DeviceReplay& replay) {
  std::string text;
  for (const OomRecord& record : replay.result.ooms) {
    const OutOfMemory& oom = record.account;
    text += fmt::format(
        "out of memory at operation {}: requested {}, needs {} from the device{}; reserved {}, "
        "allocated {}, largest free block {} (usable here: {})\n",
        record.operation, to_iec(oom.requested), to_iec(oom.segment_size), room(replay, oom),
        to_iec(oom.reserved), to_iec(oom.allocated), to_iec(oom.largest_free_block),
        to_iec(oom.largest_usable_free_block));
  }
  const std::uint64_t more = replay.result.counts.ooms - replay.result.ooms.size();
  if (replay.result.counts.ooms > replay.result.ooms.size()) {
    text += fmt::format("and {} more\n", more);
  }
  return text;
}

std::string decision_lines(const DeviceReplay& replay) {
  std::string text;
  for (const NumberedDecision& decision : replay.result.decisions) {
    text += decision_line(decision, replay.stream_handles) + "\n";
  }
  return text;
}

}  // namespace highwater
