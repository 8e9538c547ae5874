// Writes pickles of plain data: protocol 4, opcode by opcode, straight into a sink.
//
// Uses only opcodes that every reader of snapshots supports, including PyTorch's viewer in
// JavaScript (SNAPSHOT_FORMAT 1.6): no frames, and no long forms of strings or integers. Lists and
// dicts come in batches of 1000, as Python writes them: a reader holds one batch on its stack.
// Source: Lib/pickle.py and Lib/pickletools.py of CPython 3.11.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "traces/formats/bytes/byte_sink.hpp"
#include "traces/formats/pickle/pickle_opcodes.hpp"

namespace highwater::detail {

/// A value that was written once and is referred to from then on.
using MemoIndex = std::uint32_t;
inline constexpr MemoIndex kNoMemo = ~MemoIndex{0};

class PickleWriter {
 public:
  /// `sink` must outlive the writer.
  explicit PickleWriter(ByteSink& sink);

  void integer(std::int64_t value);
  /// Up to 2^64-1.
  void natural(std::uint64_t value);
  void real(double value);
  void boolean(bool value);
  /// Bytes that are not UTF-8 are replaced, because Python would refuse the file.
  void text(std::string_view value);

  /// The two values written last become one.
  void pair() { put(PickleOpcode::tuple2); }

  /// The value written last can be repeated.
  MemoIndex memoize();
  void repeat(MemoIndex value);

  void put(PickleOpcode opcode) { out_.push_back(static_cast<std::byte>(opcode)); }

  /// Flushes the buffer to the sink once it is large enough. Call it now and then.
  void flush_if_large() {
    if (out_.size() >= kFlushAt) {
      flush();
    }
  }

  /// Ends the pickle; the sink is not committed.
  void finish();

 private:
  static constexpr std::size_t kFlushAt = std::size_t{1} << 16;

  void flush();
  void put_little_endian(std::uint64_t value, std::size_t bytes);

  ByteSink* sink_;
  std::vector<std::byte> out_;
  MemoIndex next_memo_ = 0;
};

/// A list or dict under construction. Call next() before each item, or before each key with its
/// value, and finish() once.
class PickleBatches {
 public:
  static PickleBatches list(PickleWriter& out) {
    return {out, PickleOpcode::empty_list, PickleOpcode::appends};
  }

  static PickleBatches dict(PickleWriter& out) {
    return {out, PickleOpcode::empty_dict, PickleOpcode::set_items};
  }

  void next();
  void finish();

 private:
  PickleBatches(PickleWriter& out, PickleOpcode empty, PickleOpcode add) : out_(&out), add_(add) {
    out.put(empty);
  }

  PickleWriter* out_;
  PickleOpcode add_;
  std::size_t in_batch_ = 0;
};

}  // namespace highwater::detail
