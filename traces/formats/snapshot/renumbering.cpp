// Streams and pools are numbered over the whole file while it is read; a device keeps its own.
#include <algorithm>

#include "traces/formats/snapshot/snapshot_assembly.hpp"

namespace highwater::detail {
namespace {

/// The numbers in use, and what each becomes.
class Renumbering {
 public:
  explicit Renumbering(std::size_t size) : used_(size), to_(size) {}

  void use(std::size_t number) { used_[number] = 1; }

  [[nodiscard]] std::vector<std::uint16_t> used() const {
    std::vector<std::uint16_t> numbers;
    for (std::size_t i = 0; i < used_.size(); ++i) {
      if (used_[i] != 0) {
        numbers.push_back(static_cast<std::uint16_t>(i));
      }
    }
    return numbers;
  }

  void set_order(const std::vector<std::uint16_t>& numbers) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      to_[numbers[i]] = static_cast<std::uint16_t>(i);
    }
  }

  [[nodiscard]] std::uint16_t operator[](std::size_t number) const { return to_[number]; }

 private:
  std::vector<char> used_;
  std::vector<std::uint16_t> to_;
};

}  // namespace

void renumber(const SnapshotStore& store, RecordedDevice& device) {
  Renumbering streams(store.streams.values().size());
  Renumbering pools(store.pools.values().size());
  pools.use(0);  // no pool named
  for (const RecordedEntry& entry : device.entries) {
    streams.use(entry.stream);
    pools.use(entry.pool);
  }
  for (const RecordedSegment& segment : device.segments) {
    streams.use(segment.stream);
  }

  auto ascending = streams.used();
  const auto handle = [&](std::uint16_t number) { return store.streams.values()[number]; };
  std::ranges::sort(ascending, {}, handle);
  streams.set_order(ascending);
  pools.set_order(pools.used());

  for (std::size_t i = 0; i < device.entries.size(); ++i) {
    RecordedEntry& entry = device.entries[i];
    entry.stream = streams[entry.stream];
    entry.pool = static_cast<std::uint8_t>(pools[entry.pool]);
  }
  for (RecordedSegment& segment : device.segments) {
    segment.stream = streams[segment.stream];
  }
  std::ranges::transform(ascending, std::back_inserter(device.stream_handles), handle);
  device.pools.clear();
  for (const std::uint16_t number : pools.used()) {
    device.pools.push_back(store.pools.values()[number]);
  }
}

}  // namespace highwater::detail
