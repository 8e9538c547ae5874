// The words of a memory snapshot: its keys, and the strings with a fixed meaning.
//
// Each is an enumerator, so decoding a field is one switch and no string comparison. The keys come
// first and number fewer than 64: the keys of a dict fit in one bit set, which shows its shape and
// the release that wrote it. Source: the snapshot dictionaries in torch/csrc/cuda/Module.cpp and
// torch/csrc/cuda/memory_snapshot.cpp, PyTorch 1.13 to 2.11; torch_version, highwater,
// plan and trace_index are this project's own (tools/python/recorder).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "traces/formats/pickle/pickle_value.hpp"

namespace highwater::detail {

enum class Word : std::uint8_t {
  // trace entry
  action,
  addr,
  device_free,
  size,
  stream,
  time_us,
  frames,
  compile_context,
  user_metadata,
  pool_id,
  internal_metadata,
  // segment
  device,
  address,
  total_size,
  allocated_size,
  active_size,
  requested_size,
  segment_type,
  segment_pool_id,
  is_expandable,
  blocks,
  // block
  state,
  history,
  real_size,
  // frame
  filename,
  line,
  name,
  // top level
  segments,
  device_traces,
  allocator_settings,
  external_annotations,
  torch_version,
  highwater,
  plan,  // of highwater
  // allocator_settings
  cuda_conf,
  conf,
  max_split_size,
  garbage_collection_threshold,
  expandable_segments,
  pinned_num_register_threads,
  release_lock_on_cudamalloc,
  pinned_use_cuda_host_register,
  roundup_power2_divisions,
  graph_capture_record_stream_reuse,
  max_cached_size,
  max_round_threshold,
  // external_annotations
  stage,
  trace_index,
  // values, in the order of RecordedAction
  alloc,
  free_requested,
  free_completed,
  segment_alloc,
  segment_free,
  segment_map,
  segment_unmap,
  snapshot,
  oom,
  // other values
  small,
  large,
  inactive,
  active_pending_free,
  active_awaiting_free,
  active_allocated,
  start,
  end,
  unknown,
};

constexpr std::size_t kWordCount = static_cast<std::size_t>(Word::unknown);
constexpr std::size_t kKeyCount = static_cast<std::size_t>(Word::alloc);
static_assert(kKeyCount <= 64);

/// The spelling of each word, in the order of the enumeration.
constexpr std::array<std::string_view, kWordCount> kWords{
    "action",
    "addr",
    "device_free",
    "size",
    "stream",
    "time_us",
    "frames",
    "compile_context",
    "user_metadata",
    "pool_id",
    "internal_metadata",
    "device",
    "address",
    "total_size",
    "allocated_size",
    "active_size",
    "requested_size",
    "segment_type",
    "segment_pool_id",
    "is_expandable",
    "blocks",
    "state",
    "history",
    "real_size",
    "filename",
    "line",
    "name",
    "segments",
    "device_traces",
    "allocator_settings",
    "external_annotations",
    "torch_version",
    "highwater",
    "plan",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_ALLOC_CONF",
    "max_split_size",
    "garbage_collection_threshold",
    "expandable_segments",
    "pinned_num_register_threads",
    "release_lock_on_cudamalloc",
    "pinned_use_cuda_host_register",
    "roundup_power2_divisions",
    "graph_capture_record_stream_reuse",
    "max_cached_size",
    "max_round_threshold",
    "stage",
    "trace_index",
    "alloc",
    "free_requested",
    "free_completed",
    "segment_alloc",
    "segment_free",
    "segment_map",
    "segment_unmap",
    "snapshot",
    "oom",
    "small",
    "large",
    "inactive",
    "active_pending_free",
    "active_awaiting_free",
    "active_allocated",
    "START",
    "END",
};

/// The keys of one dict, or the keys seen in one kind of dict.
class KeySet {
 public:
  /// Words that are not keys, and unknown words, are left out.
  constexpr void insert(Word word) {
    if (static_cast<std::size_t>(word) < kKeyCount) {
      bits_ |= bit(word);
    }
  }

  constexpr void merge(KeySet other) { bits_ |= other.bits_; }

  [[nodiscard]] constexpr bool has(Word key) const { return (bits_ & bit(key)) != 0; }

  /// The set as 64 bits and back, to be kept with a dict.
  [[nodiscard]] constexpr std::uint64_t bits() const { return bits_; }

  static constexpr KeySet of_bits(std::uint64_t bits) {
    KeySet keys;
    keys.bits_ = bits;
    return keys;
  }

 private:
  static constexpr std::uint64_t bit(Word word) {
    return std::uint64_t{1} << static_cast<unsigned>(word);
  }

  std::uint64_t bits_ = 0;
};

/// The word that `value` is; Word::unknown for other texts and for values that are not text.
constexpr Word word_of(PickleValue value) {
  const bool is_word = value.is(PickleKind::text) && value.payload() < kWordCount;
  return is_word ? static_cast<Word>(value.payload()) : Word::unknown;
}

}  // namespace highwater::detail
