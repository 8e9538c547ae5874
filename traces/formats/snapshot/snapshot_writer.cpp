#include "traces/formats/snapshot/snapshot_writer.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "traces/formats/pickle/pickle_writer.hpp"
#include "traces/formats/snapshot/snapshot_words.hpp"

namespace highwater {
namespace {

using detail::kNoMemo;
using detail::MemoIndex;
using detail::PickleBatches;
using detail::PickleWriter;
using detail::Word;

/// "2.10" as numbers that compare; {0, 0} for no version.
std::pair<int, int> parsed(const std::string& release) {
  std::pair<int, int> version;
  const char* const end = release.data() + release.size();
  const auto major = std::from_chars(release.data(), end, version.first);
  if (major.ptr != end) {
    std::from_chars(major.ptr + 1, end, version.second);
  }
  return version;
}

/// Which keys of later releases an entry has; a reader derives the release from them.
struct EntryKeys {
  bool compile_context = false;
  bool user_metadata = false;
  bool pool_id = false;
};

EntryKeys keys_of(const WriterVersion& writer) {
  const auto oldest = parsed(writer.oldest);
  return {.compile_context = oldest >= std::pair{2, 8},
          .user_metadata = oldest >= std::pair{2, 10},
          .pool_id = oldest >= std::pair{2, 12}};
}

class SnapshotWriter {
 public:
  SnapshotWriter(const Recording& recording, ByteSink& sink)
      : recording_(&recording),
        out_(sink),
        keys_(keys_of(recording.writer)),
        words_(detail::kWordCount, kNoMemo),
        strings_(recording.tables.strings.size(), kNoMemo),
        frames_(recording.tables.stacks.frame_count(), kNoMemo),
        stacks_(recording.tables.stacks.stack_count(), kNoMemo) {}

  void write() {
    PickleBatches top = PickleBatches::dict(out_);
    next_key(top, Word::segments);
    write_segments();
    next_key(top, Word::device_traces);
    write_traces();
    if (recording_->settings) {
      next_key(top, Word::allocator_settings);
      write_settings(*recording_->settings);
    }
    if (parsed(recording_->writer.oldest) >= std::pair{2, 5} || !recording_->annotations.empty()) {
      next_key(top, Word::external_annotations);
      write_annotations();
    }
    if (!recording_->plan.empty()) {
      next_key(top, Word::highwater);
      write_plan();
    }
    top.finish();
    out_.finish();
  }

 private:
  // Words, strings, frames and stacks: written once, repeated from then on.

  void word(Word what) {
    MemoIndex& memo = words_[static_cast<std::size_t>(what)];
    if (memo == kNoMemo) {
      out_.text(detail::kWords.at(static_cast<std::size_t>(what)));
      memo = out_.memoize();
    } else {
      out_.repeat(memo);
    }
  }

  void string(StringId id) {
    MemoIndex& memo = strings_.at(id.index());
    if (memo == kNoMemo) {
      out_.text(recording_->tables.strings[id]);
      memo = out_.memoize();
    } else {
      out_.repeat(memo);
    }
  }

  /// A text that is the same in every entry.
  void repeated(std::string_view text, MemoIndex& memo) {
    if (memo == kNoMemo) {
      out_.text(text);
      memo = out_.memoize();
    } else {
      out_.repeat(memo);
    }
  }

  void frame(FrameId id) {
    MemoIndex& memo = frames_.at(id.index());
    if (memo != kNoMemo) {
      out_.repeat(memo);
      return;
    }
    const Frame& frame = recording_->tables.stacks.frame(id);
    PickleBatches dict = PickleBatches::dict(out_);
    memo = out_.memoize();
    next_key(dict, Word::line);
    out_.integer(frame.line);
    next_key(dict, Word::name);
    string(frame.function);
    next_key(dict, Word::filename);
    string(frame.file);
    dict.finish();
  }

  void stack(StackId id) {
    MemoIndex& memo = id.has_value() ? stacks_.at(id.index()) : no_stack_;
    if (memo != kNoMemo) {
      out_.repeat(memo);
      return;
    }
    PickleBatches list = PickleBatches::list(out_);
    memo = out_.memoize();
    if (id.has_value()) {
      for (const FrameId each : recording_->tables.stacks.stack(id)) {
        list.next();
        frame(each);
      }
    }
    list.finish();
  }

  // Keys with their values.

  void next_key(PickleBatches& dict, Word key) {
    dict.next();
    word(key);
  }

  void number(PickleBatches& dict, Word key, std::uint64_t value) {
    next_key(dict, key);
    out_.natural(value);
  }

  void number(PickleBatches& dict, Word key, Bytes value) { number(dict, key, value.count()); }

  void number(PickleBatches& dict, Word key, Address value) { number(dict, key, value.value()); }

  void boolean(PickleBatches& dict, Word key, bool value) {
    next_key(dict, key);
    out_.boolean(value);
  }

  void choice(PickleBatches& dict, Word key, Word value) {
    next_key(dict, key);
    word(value);
  }

  void frames(PickleBatches& dict, StackId id) {
    next_key(dict, Word::frames);
    stack(id);
  }

  void pool(PickleBatches& dict, Word key, PoolId id) {
    next_key(dict, key);
    out_.natural(id.capture);
    out_.natural(id.user);
    out_.pair();
  }

  // The parts of a snapshot.

  void write_segments() {
    PickleBatches list = PickleBatches::list(out_);
    for (const RecordedDevice& device : recording_->devices) {
      for (const RecordedSegment& segment : device.segments) {
        list.next();
        write_segment(device, segment);
        out_.flush_if_large();
      }
    }
    list.finish();
  }

  struct Sums {
    Bytes allocated;
    Bytes active;
    Bytes requested;
  };

  static Sums sums_of(const RecordedSegment& segment) {
    Sums sums;
    for (const RecordedBlock& block : segment.blocks) {
      if (block.state != BlockState::inactive) {
        sums.active += block.size;
        sums.requested += block.requested;
      }
      sums.allocated += block.state == BlockState::active_allocated ? block.size : Bytes{};
    }
    return sums;
  }

  void write_segment(const RecordedDevice& device, const RecordedSegment& segment) {
    const Sums sums = sums_of(segment);
    PickleBatches dict = PickleBatches::dict(out_);
    number(dict, Word::device, static_cast<std::uint64_t>(device.index));
    number(dict, Word::address, segment.address);
    number(dict, Word::total_size, segment.size);
    number(dict, Word::allocated_size, sums.allocated);
    number(dict, Word::active_size, sums.active);
    number(dict, Word::requested_size, sums.requested);
    number(dict, Word::stream, device.stream_handles.at(segment.stream));
    choice(dict, Word::segment_type, segment.is_large ? Word::large : Word::small);
    pool(dict, Word::segment_pool_id, segment.pool);
    boolean(dict, Word::is_expandable, segment.is_expandable);
    frames(dict, segment.stack);
    next_key(dict, Word::blocks);
    write_blocks(segment);
    dict.finish();
  }

  void write_blocks(const RecordedSegment& segment) {
    constexpr std::array kStates{Word::inactive, Word::active_pending_free, Word::active_allocated};
    PickleBatches list = PickleBatches::list(out_);
    for (const RecordedBlock& block : segment.blocks) {
      list.next();
      PickleBatches dict = PickleBatches::dict(out_);
      number(dict, Word::address, block.address);
      number(dict, Word::size, block.size);
      number(dict, Word::requested_size, block.requested);
      choice(dict, Word::state, kStates.at(static_cast<std::size_t>(block.state)));
      frames(dict, block.stack);
      dict.finish();
      out_.flush_if_large();
    }
    list.finish();
  }

  /// A list for each device up to the last one, as PyTorch writes it.
  void write_traces() {
    PickleBatches list = PickleBatches::list(out_);
    int next = 0;
    for (const RecordedDevice& device : recording_->devices) {
      for (; next < device.index; ++next) {
        list.next();
        PickleBatches::list(out_).finish();
      }
      list.next();
      write_entries(device);
      ++next;
    }
    list.finish();
  }

  void write_entries(const RecordedDevice& device) {
    unknown_action_ = kNoMemo;
    PickleBatches list = PickleBatches::list(out_);
    for (const RecordedEntry& entry : device.entries) {
      list.next();
      write_entry(device, entry);
      out_.flush_if_large();
    }
    list.finish();
  }

  void write_entry(const RecordedDevice& device, const RecordedEntry& entry) {
    PickleBatches dict = PickleBatches::dict(out_);
    next_key(dict, Word::action);
    write_action(device, entry.action);
    number(dict, entry.action == RecordedAction::oom ? Word::device_free : Word::addr,
           entry.address);
    number(dict, Word::size, entry.size);
    number(dict, Word::stream, device.stream_handles.at(entry.stream));
    if (entry.time_us >= 0) {
      number(dict, Word::time_us, static_cast<std::uint64_t>(entry.time_us));
    }
    write_later_keys(dict, device, entry);
    if (entry.stack.has_value()) {
      frames(dict, entry.stack);
    }
    dict.finish();
  }

  void write_action(const RecordedDevice& device, RecordedAction action) {
    constexpr std::size_t kFirst = static_cast<std::size_t>(Word::alloc);
    if (action != RecordedAction::ignored) {
      word(static_cast<Word>(kFirst + static_cast<std::size_t>(action)));
      return;
    }
    const auto& names = device.unknown_actions;
    repeated(names.size() == 1 ? names.begin()->first : "user_defined", unknown_action_);
  }

  void write_later_keys(PickleBatches& dict, const RecordedDevice& device,
                        const RecordedEntry& entry) {
    if (keys_.compile_context) {
      next_key(dict, Word::compile_context);
      repeated("N/A", no_compile_context_);
    }
    if (keys_.user_metadata) {
      next_key(dict, Word::user_metadata);
      repeated("", no_metadata_);
    }
    if (keys_.pool_id) {
      pool(dict, Word::pool_id, device.pools.at(entry.pool));
    }
  }

  void write_settings(const RecordedSettings& settings) {
    PickleBatches dict = PickleBatches::dict(out_);
    next_key(dict, Word::cuda_conf);
    out_.text(settings.conf);
    next_key(dict, Word::max_split_size);
    out_.integer(settings.max_split_size.value_or(-1));
    next_key(dict, Word::garbage_collection_threshold);
    out_.real(settings.garbage_collection_threshold.value_or(0));
    boolean(dict, Word::expandable_segments, settings.expandable_segments.value_or(false));
    number(dict, Word::pinned_num_register_threads, 1);
    boolean(dict, Word::release_lock_on_cudamalloc, false);
    boolean(dict, Word::pinned_use_cuda_host_register, false);
    next_key(dict, Word::roundup_power2_divisions);
    PickleBatches divisions = PickleBatches::dict(out_);
    for (const auto& [bucket, count] : settings.roundup_power2_divisions) {
      divisions.next();
      out_.text(std::to_string(bucket));
      out_.natural(count);
    }
    divisions.finish();
    if (parsed(recording_->writer.oldest) >= std::pair{2, 9}) {
      boolean(dict, Word::graph_capture_record_stream_reuse, false);
    }
    if (parsed(recording_->writer.oldest) >= std::pair{2, 13}) {
      for (const Word limit : {Word::max_cached_size, Word::max_round_threshold}) {
        next_key(dict, limit);
        out_.integer(-1);
      }
    }
    dict.finish();
  }

  void write_annotations() {
    PickleBatches list = PickleBatches::list(out_);
    for (const Annotation& annotation : recording_->annotations) {
      list.next();
      PickleBatches dict = PickleBatches::dict(out_);
      next_key(dict, Word::name);
      out_.text(annotation.name);
      choice(dict, Word::stage, annotation.is_start ? Word::start : Word::end);
      number(dict, Word::device, static_cast<std::uint64_t>(std::max(annotation.device, 0)));
      next_key(dict, Word::time_us);
      out_.integer(annotation.time_us);
      if (annotation.entry) {
        number(dict, Word::trace_index, *annotation.entry);
      }
      dict.finish();
      out_.flush_if_large();
    }
    list.finish();
  }

  void write_plan() {
    PickleBatches dict = PickleBatches::dict(out_);
    next_key(dict, Word::plan);
    out_.text(recording_->plan);
    dict.finish();
  }

  const Recording* recording_;
  PickleWriter out_;
  EntryKeys keys_;
  std::vector<MemoIndex> words_;
  std::vector<MemoIndex> strings_;
  std::vector<MemoIndex> frames_;
  std::vector<MemoIndex> stacks_;
  MemoIndex no_stack_ = kNoMemo;
  MemoIndex unknown_action_ = kNoMemo;
  MemoIndex no_compile_context_ = kNoMemo;
  MemoIndex no_metadata_ = kNoMemo;
};

}  // namespace

void write_torch_snapshot(const Recording& recording, ByteSink& sink) {
  SnapshotWriter(recording, sink).write();
  sink.commit();
}

}  // namespace highwater
