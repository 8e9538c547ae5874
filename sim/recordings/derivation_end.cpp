#include "sim/recordings/derivation_end.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/recordings/older_blocks.hpp"

namespace highwater {
namespace {

class Ending {
 public:
  Ending(DerivationEnd end, RequestLog& log) : end_(std::move(end)), log_(&log) {}

  void carry_out() {
    find_untouched();
    DerivationReport& report = log_->trace.report;
    report.entries_read = end_.device.entries.size();
    report.initial_blocks = end_.older.size();
    rebuild_state();
    note_implicit_frees();
    note_truncation();
    RequestTrace& requests = log_->trace.requests;
    requests.allocation_count = log_->trace.addresses.size();
    requests.header.settings = to_conf(end_.settings);
    requests.header.capacity = end_.calls.device_memory();
    fill_stream_handles();
  }

 private:
  /// Final blocks that are older than the recording, and exact sizes of the others.
  void find_untouched() {
    const FinalBlocks active(end_.device);
    for (OlderBlock& block : end_.older) {
      const auto live = end_.live.find(block.address.value());
      const RecordedBlock* last = active.at(block.address);
      if (live != end_.live.end() && live->second.id == block.id && last != nullptr) {
        block.size = last->size;
        block.stack = last->stack;
      }
    }
    for (const RecordedBlock* block : active.in_order()) {
      if (!end_.live.contains(block->address.value())) {
        end_.older.push_back({block->address, block->requested, block->size,
                              log_->new_allocation(block->address), block->stack});
      }
    }
    note_contradictions(active);
  }

  void rebuild_state() {
    DerivedTrace& trace = log_->trace;
    InitialState state = rebuild_initial_state(end_.device, std::move(end_.older), end_.settings);
    trace.initial = std::move(state.map);
    trace.initial_ids = std::move(state.ids);
    trace.initial_stacks = std::move(state.stacks);
    trace.report.initial_blocks_doubtful = state.doubtful;
    if (!state.misplaced.empty()) {
      trace.report.entries_dropped += state.misplaced.size();
      trace.report.problems.push_back(
          fmt::format("{} blocks older than the recording were ignored: they lie in no segment of "
                      "that time, or overlap others",
                      state.misplaced.size()));
    }
  }

  void note_contradictions(const FinalBlocks& active) {
    const auto contradicted =
        std::count_if(end_.live.begin(), end_.live.end(),
                      [&](const auto& live) { return active.at(Address{live.first}) == nullptr; });
    if (contradicted != 0) {
      log_->trace.report.problems.push_back(
          fmt::format("{} blocks are live after the last entry but not active in the final "
                      "segments: the entries and the segments were taken at different moments",
                      contradicted));
    }
  }

  void note_implicit_frees() {
    DerivationReport& report = log_->trace.report;
    if (report.implicit_frees != 0) {
      report.problems.push_back(
          fmt::format("{} allocations at addresses that were still live: entries are missing in "
                      "between",
                      report.implicit_frees));
    }
  }

  /// A ring buffer that was overwritten shows by its round length; a recording that began late
  /// shows by older blocks. Either way the start of the history is missing.
  void note_truncation() {
    DerivationReport& report = log_->trace.report;
    const std::size_t n = end_.device.entries.size();
    report.truncated |= n >= 1000 && n % 1000 == 0;
    report.truncated |= report.initial_blocks != 0 || !log_->trace.initial.segments.empty();
  }

  void fill_stream_handles() {
    std::vector<std::uint64_t> handles = end_.device.stream_handles;
    while (handles.size() < end_.streams) {
      handles.push_back(handles.empty() ? 0 : handles.back() + 1);
    }
    if (handles.empty()) {
      handles.push_back(0);
    }
    log_->trace.requests.stream_handles = std::move(handles);
  }

  DerivationEnd end_;
  RequestLog* log_;
};

}  // namespace

void finish_derivation(DerivationEnd end, RequestLog& log) {
  Ending(std::move(end), log).carry_out();
}

}  // namespace highwater
