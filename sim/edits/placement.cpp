// Edits of what a block is asked for with: its size, its stream, its pool.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/edits/edit_kinds.hpp"
#include "sim/edits/rewriting.hpp"
#include "traces/pool_options.hpp"

namespace highwater {
namespace {

/// Asks for single blocks in another pool than the one whose session is open. Sessions that are
/// closed for it and opened again keep their number of users.
class PoolSwitch {
 public:
  PoolSwitch(PoolIndex pool, bool is_default) : pool_(pool), is_default_(is_default) {}

  void follow(const Event& event) {
    if (event.kind == EventKind::pool_begin) {
      open_.push_back(event);
      is_made_ |= !is_default_ && event.pool == pool_;
    } else if (event.kind == EventKind::pool_end) {
      std::erase_if(open_, [&](const Event& open) { return open.pool == event.pool; });
    }
  }

  /// False where the block lies there in any case.
  bool put(const Event& event, ChunkedVector<Event>& written) {
    const bool is_inside = open_.size() == 1 && open_.front().pool == pool_;
    if (is_default_ ? open_.empty() : is_inside) {
      written.push_back(event);
      return false;
    }
    for (auto open = open_.rbegin(); open != open_.rend(); ++open) {
      written.push_back({.kind = EventKind::pool_end, .pool = open->pool});
    }
    put_inside(event, written);
    for (const Event& open : open_) {
      begin_again(open, written);
    }
    return true;
  }

 private:
  void put_inside(const Event& event, ChunkedVector<Event>& written) {
    if (is_default_) {
      written.push_back(event);
      return;
    }
    const Event begin{.value = value_of({}, kind()), .kind = EventKind::pool_begin, .pool = pool_};
    written.push_back(begin);
    if (std::exchange(is_made_, true)) {
      written.push_back({.kind = EventKind::pool_release, .pool = pool_});
    }
    written.push_back(event);
    written.push_back({.kind = EventKind::pool_end, .pool = pool_});
  }

  /// What is captured stays captured in another pool.
  [[nodiscard]] SessionKind kind() const {
    const bool is_capture = std::ranges::any_of(open_, [](const Event& open) {
      return session_kind_of(open.value) == SessionKind::capture;
    });
    return is_capture ? SessionKind::capture : SessionKind::routed;
  }

  static void begin_again(const Event& begin, ChunkedVector<Event>& written) {
    written.push_back(begin);
    written.push_back({.kind = EventKind::pool_release, .pool = begin.pool});
  }

  PoolIndex pool_;
  bool is_default_;
  bool is_made_ = false;
  std::vector<Event> open_;  ///< that began them
};

/// What is larger than any device stays just as impossible.
std::uint64_t scaled(std::uint64_t bytes, double factor) {
  constexpr double kLargest = 1e18;
  return static_cast<std::uint64_t>(
      std::llround(std::min(static_cast<double>(bytes) * factor, kLargest)));
}

void count_change(const Event& event, EditReport& report) {
  ++report.changed;
  report.bytes += event.bytes();
}

}  // namespace

EditReport apply(const MoveToStream& edit, EditedRun& run) {
  EditReport report;
  const std::size_t streams = run.trace.stream_handles.size();
  const StreamId stream = stream_called(run.trace, edit.stream);
  rewrite(run, [&](Event event, ChunkedVector<Event>& written) {
    if (event.kind == EventKind::alloc && edit.sites.contains(event.stack)) {
      ++report.blocks;
      if (event.stream != stream) {
        count_change(event, report);
      }
      event.stream = stream;
    }
    written.push_back(event);
  });
  report.done = changed_blocks(report, fmt::format("moved to stream {}", edit.stream));
  report.assumed.emplace_back(
      run.trace.stream_handles.size() == streams
          ? "the blocks are asked for on that stream, and freed when they were"
          : "the blocks are asked for on a stream of their own, which the run did not have, and "
            "freed when they were");
  report.unknown.emplace_back(
      "which other streams use the blocks then: record_stream is neither added nor removed");
  return report;
}

EditReport apply(const MoveToPool& edit, EditedRun& run) {
  EditReport report;
  const bool is_default = edit.pool.is_default();
  PoolSwitch pools(is_default ? PoolIndex{0} : run.trace.index_of(edit.pool), is_default);
  rewrite(run, [&](const Event& event, ChunkedVector<Event>& written) {
    pools.follow(event);
    if (event.kind != EventKind::alloc || !edit.sites.contains(event.stack)) {
      written.push_back(event);
      return;
    }
    ++report.blocks;
    if (pools.put(event, written)) {
      count_change(event, report);
    }
  });
  report.done = changed_blocks(report, is_default ? std::string("moved out of private pools")
                                                  : fmt::format("moved to private pool ({}, {})",
                                                                edit.pool.capture, edit.pool.user));
  report.assumed.emplace_back(
      is_default ? "the blocks lie in the common pools"
                 : "each block is asked for inside use_mem_pool() of that pool, which lives to the "
                   "end of the run");
  return report;
}

EditReport apply(const ScaleSizes& edit, EditedRun& run) {
  EditReport report;
  std::vector<bool> is_gone(edit.factor == 0 ? run.trace.allocation_count : 0);
  rewrite(run, [&](Event event, ChunkedVector<Event>& written) {
    if (event.kind == EventKind::alloc && edit.sites.contains(event.stack)) {
      ++report.blocks;
      count_change(event, report);
      event.value = scaled(event.value, edit.factor);
      if (edit.factor == 0) {
        is_gone[event.allocation.index()] = true;
      }
    }
    const bool is_left_out =
        edit.factor == 0 && event.allocation.has_value() && is_gone[event.allocation.index()];
    if (!is_left_out) {
      written.push_back(event);
    }
  });
  report.done =
      changed_blocks(report, edit.factor == 0 ? std::string("left out")
                                              : fmt::format("{} times as large", edit.factor));
  report.assumed.emplace_back(edit.factor == 0 ? "the blocks are never asked for"
                                               : "sizes are rounded to the nearest byte");
  report.unknown.emplace_back(
      "what follows from the size in the program: all other requests stay as they were, those of "
      "operators that read these blocks and the choice of kernels included");
  return report;
}

}  // namespace highwater
