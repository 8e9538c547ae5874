#include "sim/recordings/viewer_curve.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

namespace highwater {
namespace {

class DrawnBlocks {
 public:
  void read(const RecordedDevice& device) {
    std::uint64_t read = 0;
    for (const RecordedEntry& entry : device.entries) {
      add(entry, ++read);
    }
    for (const RecordedSegment& segment : device.segments) {
      add_unseen(segment);
    }
    curve_.peak = curve_.older + Bytes{highest_};
  }

  [[nodiscard]] const ViewerCurve& curve() const { return curve_; }

 private:
  void add(const RecordedEntry& entry, std::uint64_t number) {
    if (entry.action == RecordedAction::alloc) {
      drawn_[entry.address.value()] = entry.size;
      change_ += entry.size.count();
      if (static_cast<std::int64_t>(change_) > static_cast<std::int64_t>(highest_)) {
        highest_ = change_;
        curve_.entries_to_peak = number;
      }
    } else if (entry.action == RecordedAction::free_completed) {
      change_ -= taken_out(entry).count();
    }
  }

  Bytes taken_out(const RecordedEntry& entry) {
    const auto found = drawn_.find(entry.address.value());
    if (found == drawn_.end()) {
      add_older(entry.size);
      return entry.size;
    }
    const Bytes size = found->second;
    drawn_.erase(found);
    return size;
  }

  void add_unseen(const RecordedSegment& segment) {
    for (const RecordedBlock& block : segment.blocks) {
      if (drawn_.contains(block.address.value())) {
        continue;
      }
      if (block.state == BlockState::active_allocated) {
        add_older(block.requested);
        curve_.older_in_use += block.requested;
      } else if (block.state == BlockState::active_pending_free) {
        curve_.left_out += block.requested;
      }
    }
  }

  void add_older(Bytes size) {
    curve_.older += size;
    ++curve_.older_blocks;
  }

  ViewerCurve curve_;
  boost::unordered_flat_map<std::uint64_t, Bytes> drawn_;  ///< by address
  // Since the start; below zero they wrap, as sums of a hostile file's sizes may.
  std::uint64_t change_ = 0;
  std::uint64_t highest_ = 0;
};

}  // namespace

ViewerCurve viewer_curve(const RecordedDevice& device) {
  DrawnBlocks blocks;
  blocks.read(device);
  return blocks.curve();
}

}  // namespace highwater
