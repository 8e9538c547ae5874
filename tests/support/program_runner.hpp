// Runs a random program on an allocator, model or oracle, and tells everything there is to compare.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "allocator/caching_allocator.hpp"
#include "allocator/decision.hpp"
#include "allocator/settings/version.hpp"
#include "tests/support/failing_device.hpp"
#include "tests/support/program.hpp"

namespace highwater::program {

/// What an instruction gave back; empty fields for everything but a successful allocation.
struct StepResult {
  AllocationStatus status = AllocationStatus::no_block;
  Address address;
  Address segment;
  Bytes size;
  PoolCall pool_call = PoolCall::ok;

  bool operator==(const StepResult&) const = default;
};

inline std::string to_string(const StepResult& result) {
  return fmt::format("status {} address {:#x} segment {:#x} size {} pool call {}",
                     static_cast<int>(result.status), result.address.value(),
                     result.segment.value(), result.size.count(),
                     static_cast<int>(result.pool_call));
}

inline std::string to_string(const Decision& decision) {
  return fmt::format("{} {:#x} {} {}", highwater::to_string(decision.action),
                     decision.address.value(), decision.size.count(), decision.stream.value());
}

/// Every statistic and counter, one line each.
template <class Statistics>
std::vector<std::string> lines_of_statistics(const Statistics& statistics) {
  std::vector<std::string> lines;
  const auto add = [&](std::string_view name, std::string_view part, const StatValue& value) {
    lines.push_back(fmt::format("{}.{} {} {} {} {}", name, part, value.current, value.peak,
                                value.allocated, value.freed));
  };
  for (std::size_t i = 0; i < kStatCount; ++i) {
    const auto stat = static_cast<Stat>(i);
    add(highwater::to_string(stat), "all", statistics.all(stat));
    add(highwater::to_string(stat), "small", statistics.of(stat, PoolKind::small));
    add(highwater::to_string(stat), "large", statistics.of(stat, PoolKind::large));
  }
  add("oversize", "allocations", statistics.oversize_allocations);
  add("oversize", "segments", statistics.oversize_segments);
  const Counters& counters = statistics.counters;
  lines.push_back(fmt::format("counters {} {} {} {} {} map {} unmap {}", counters.num_alloc_retries,
                              counters.num_ooms, counters.num_sync_all_streams,
                              counters.num_device_alloc, counters.num_device_free,
                              counters.segment_map, counters.segment_unmap));
  return lines;
}

/// Every segment and block, one line each.
inline std::vector<std::string> lines_of_map(const MemoryMap& map) {
  std::vector<std::string> lines;
  for (const MapSegment& segment : map.segments) {
    lines.push_back(fmt::format(
        "segment {:#x} {} stream {} kind {} expandable {} owner {},{} in {:#x} {}",
        segment.address.value(), segment.size.count(), segment.stream.value(),
        static_cast<int>(segment.kind), segment.is_expandable, segment.owner.capture,
        segment.owner.user, segment.reservation.begin.value(), segment.reservation.size.count()));
    for (const MapBlock& block : segment.blocks) {
      lines.push_back(fmt::format("block {:#x} {} {} {}", block.address.value(), block.size.count(),
                                  block.requested.count(), highwater::to_string(block.state)));
    }
  }
  return lines;
}

template <class Allocator>
class Runner : private DecisionListener {
 public:
  explicit Runner(const Program& program)
      : version_(version_preset(program.version)),
        device_({program.capacity, program.addresses}, program.fault),
        allocator_(std::make_unique<Allocator>(device_, parse_settings(program.conf, version_),
                                               version_)) {
    allocator_->set_listener(this);
    if (program.fraction) {
      allocator_->set_memory_fraction(*program.fraction);
    }
  }

  StepResult step(const Instruction& instruction) {
    return std::visit([this](const auto& i) { return this->perform(i); }, instruction);
  }

  /// Goes on with an allocator that starts from the memory map of this one.
  void restart() {
    auto next = std::make_unique<Allocator>(device_, allocator_->settings(), version_);
    const std::vector<Handle> handles = next->restore(allocator_->memory_map());
    std::map<Address, Handle> by_address;
    for (const Handle handle : handles) {
      if (handle.has_value()) {
        by_address.emplace(next->block(handle).address, handle);
      }
    }
    for (auto& [id, handle] : live_) {
      handle = by_address.at(allocator_->block(handle).address);
    }
    allocator_ = std::move(next);
    allocator_->set_listener(this);
  }

  [[nodiscard]] const Allocator& allocator() const { return *allocator_; }

  [[nodiscard]] const FailingDevice& device() const { return device_; }

  /// All decisions so far.
  [[nodiscard]] const std::vector<Decision>& decisions() const { return decisions_; }

 private:
  using Handle =
      decltype(std::declval<Allocator&>().allocate(std::declval<Bytes>(), StreamId{}).block);

  void on_decision(const Decision& decision) override { decisions_.push_back(decision); }

  StepResult perform(const Alloc& i) {
    const auto result = allocator_->allocate(i.size, i.stream);
    if (result.status != AllocationStatus::ok) {
      return {.status = result.status, .address = {}, .segment = {}, .size = {}};
    }
    live_.emplace(i.id, result.block);
    const auto& block = allocator_->block(result.block);
    return {.status = result.status,
            .address = block.address,
            .segment = allocator_->segment_start(result.block),
            .size = block.size};
  }

  StepResult perform(const Free& i) {
    if (const auto found = live_.find(i.id); found != live_.end()) {
      allocator_->free(found->second);
      live_.erase(found);
    }
    return {};
  }

  StepResult perform(const RecordStream& i) {
    if (const auto found = live_.find(i.id); found != live_.end()) {
      allocator_->record_stream(found->second, i.stream);
    }
    return {};
  }

  StepResult perform(const CompleteStream& i) {
    allocator_->complete_events(i.stream);
    return {};
  }

  StepResult perform(const CompleteAll& /*instruction*/) {
    allocator_->complete_all_events();
    return {};
  }

  StepResult perform(const EmptyCache& /*instruction*/) {
    allocator_->empty_cache();
    return {};
  }

  StepResult perform(const ResetPeaks& /*instruction*/) {
    allocator_->reset_peaks();
    return {};
  }

  StepResult perform(const PoolBegin& i) { return after(allocator_->begin_pool({i.pool, 0})); }

  StepResult perform(const PoolEnd& i) { return after(allocator_->end_pool({i.pool, 0})); }

  StepResult perform(const PoolRelease& i) { return after(allocator_->release_pool({i.pool, 0})); }

  StepResult perform(const ChangeSettings& i) {
    Settings settings = allocator_->settings();
    apply_settings(i.conf, version_, settings);
    allocator_->change_settings(settings);
    return {};
  }

  static StepResult after(PoolCall call) {
    StepResult result;
    result.pool_call = call;
    return result;
  }

  const VersionPreset& version_;
  FailingDevice device_;
  std::unique_ptr<Allocator> allocator_;
  std::map<std::uint32_t, Handle> live_;
  std::vector<Decision> decisions_;
};

}  // namespace highwater::program
