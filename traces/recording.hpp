// A recording: what a real allocator did, as reported by a PyTorch memory snapshot.
//
// Entries, segments and blocks keep the recorded addresses. A request trace is derived from a
// recording (sim/recordings/derivation); the recorded decisions stay here as the reference for
// fidelity scores. Sources: torch.cuda.memory._snapshot() of PyTorch 1.13 to 2.11 and the C++
// structs TraceEntry, SegmentInfo and BlockInfo of c10/cuda/CUDACachingAllocator.h.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "traces/address.hpp"
#include "traces/chunked_vector.hpp"
#include "traces/ids.hpp"
#include "traces/stack_table.hpp"
#include "traces/units.hpp"

namespace highwater {

/// TraceEntry::Action. `ignored` stands for user_defined, annotate and every unknown action.
enum class RecordedAction : std::uint8_t {
  alloc,
  free_requested,
  free_completed,
  segment_alloc,
  segment_free,
  segment_map,
  segment_unmap,
  snapshot,
  oom,
  ignored,
};

constexpr std::size_t kRecordedActionCount = 10;

/// "alloc", "segment_map", ...: the words of the file.
std::string_view to_string(RecordedAction action);

/// One entry of device_traces[d]; 32 bytes.
struct RecordedEntry {
  Address address;  ///< block or range start; for `oom` device_free as a plain number
  Bytes size;       ///< as in the file: requested bytes for allocs and frees, real bytes otherwise
  std::int64_t time_us = -1;  ///< Unix time in microseconds, -1 when not recorded
  StackId stack;
  std::uint16_t stream = 0;  ///< index into RecordedDevice::stream_handles
  RecordedAction action = RecordedAction::ignored;
  std::uint8_t pool = 0;  ///< index into RecordedDevice::pools when the entry names its pool

  bool operator==(const RecordedEntry&) const = default;

  /// For `oom`: the bytes that the driver reported free.
  [[nodiscard]] Bytes device_free() const { return Bytes{address.value()}; }
};

static_assert(sizeof(RecordedEntry) == 32 && std::is_trivially_copyable_v<RecordedEntry>);

enum class BlockState : std::uint8_t {
  inactive,             ///< in the free list
  active_pending_free,  ///< freed by the program, waits for other streams
  active_allocated,     ///< in use
};

/// "inactive", "active_pending_free", "active_allocated": the words of the file.
std::string_view to_string(BlockState state);

struct RecordedBlock {
  Address address;
  Bytes size;
  Bytes requested;  ///< 0 when inactive (the file's value there is stale)
  StackId stack;
  BlockState state = BlockState::inactive;

  [[nodiscard]] AddressRange range() const { return {address, size}; }

  bool operator==(const RecordedBlock&) const = default;
};

/// One cudaMalloc, or one contiguous mapped range of an expandable segment.
struct RecordedSegment {
  Address address;
  Bytes size;
  std::uint16_t stream = 0;  ///< index into RecordedDevice::stream_handles
  bool is_large = false;     ///< segment_type "large"
  bool is_expandable = false;
  PoolId pool;
  StackId stack;
  std::vector<RecordedBlock> blocks;  ///< in address order, gapless

  [[nodiscard]] AddressRange range() const { return {address, size}; }

  bool operator==(const RecordedSegment&) const = default;
};

/// Everything that the file records about one device.
struct RecordedDevice {
  int index = 0;
  ChunkedVector<RecordedEntry> entries;
  std::vector<RecordedSegment> segments;      ///< by address
  std::vector<std::uint64_t> stream_handles;  ///< ascending
  std::vector<PoolId> pools{PoolId{}};        ///< pools named by entries (2026 versions); 0 = none
  std::array<std::uint64_t, kRecordedActionCount> action_counts{};
  std::map<std::string, std::uint64_t> unknown_actions;  ///< by name: `ignored` entries

  [[nodiscard]] bool is_empty() const { return entries.empty() && segments.empty(); }
};

/// `allocator_settings` of the file, as parsed by the process that wrote it.
struct RecordedSettings {
  std::string conf;                            ///< PYTORCH_CUDA_ALLOC_CONF as given, often ""
  std::optional<std::int64_t> max_split_size;  ///< bytes, -1 = unlimited
  std::optional<double> garbage_collection_threshold;
  std::optional<bool> expandable_segments;
  std::map<std::uint64_t, std::uint64_t> roundup_power2_divisions;  ///< MiB bucket -> divisions

  bool operator==(const RecordedSettings&) const = default;
};

/// external_annotations: a profiler range, e.g. Optimizer.step#AdamW.step; or, where its place
/// among the entries is known, the begin of a training step ("step 3") or of a phase ("forward").
struct Annotation {
  std::string name;
  bool is_start = true;
  int device = 0;
  std::int64_t time_us = -1;
  std::optional<std::uint64_t> entry = {};  ///< of the device's, before which it lies

  bool operator==(const Annotation&) const = default;
};

/// The range of PyTorch releases that write a file with the keys that were found.
struct WriterVersion {
  std::string oldest;  ///< "2.5"
  std::string newest;  ///< "2.7"; empty: the latest known
  bool operator==(const WriterVersion&) const = default;
};

struct Recording {
  std::vector<RecordedDevice> devices;  ///< ascending index; idle devices are left out
  std::optional<RecordedSettings> settings;
  std::vector<Annotation> annotations;
  WriterVersion writer;
  std::map<std::string, std::uint64_t> unknown_keys;  ///< "trace_entry.foo" -> occurrences
  std::string plan;  ///< what `highwater record` saw of the run, as JSON; empty: nothing
  SideTables tables;
};

}  // namespace highwater
