#include "sim/peak/live_bytes.hpp"

#include <algorithm>
#include <limits>

#include "sim/replay/trace_driver.hpp"

namespace highwater {
namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

/// Counts live bytes until after operation `last`.
class LiveCounter : public StateObserver {
 public:
  LiveCounter(const RequestTrace& trace, const std::vector<OlderBlockStack>& older,
              std::uint64_t last)
      : trace_(&trace), older_(&older), last_(last) {}

  void on_begin(const CachingAllocator& allocator, const TraceDriver& driver) override {
    next_ = 0;
    live_.assign(trace_->allocation_count, {});
    total_ = highest_ = Bytes{};
    highest_at_.reset();
    for (const auto& [id, stack] : *older_) {
      if (driver.handle(id).has_value()) {
        begin(id, allocator.block(driver.handle(id)).requested, stack);
      }
    }
  }

  void on_state(const Event& event, AllocationStatus /*status*/,
                const CachingAllocator& /*allocator*/, const TraceDriver& driver) override {
    if (!event.is_operation()) {
      return;
    }
    const std::uint64_t operation = next_++;
    if (operation > last_) {
      return;
    }
    if (event.kind == EventKind::alloc && driver.handle(event.allocation).has_value()) {
      begin(event.allocation, event.bytes(), event.stack);
    } else if (event.kind == EventKind::free) {
      end(event.allocation);
    }
    if (!highest_at_ || total_ > highest_) {
      highest_ = total_;
      highest_at_ = operation;
    }
  }

  [[nodiscard]] std::optional<std::uint64_t> highest_at() const { return highest_at_; }

  [[nodiscard]] std::uint64_t operations() const { return next_; }

  [[nodiscard]] LiveMemory take() const {
    LiveMemory result;
    result.at = next_ == 0 ? 0 : std::min(last_, next_ - 1);
    result.total = total_;
    HolderSums<StackId> sums;
    for (const Live& live : live_) {
      if (live.is_live && live.bytes > Bytes{}) {
        sums.add(live.stack, live.bytes);
        ++result.blocks;
      }
    }
    result.holders = sums.largest_first();
    return result;
  }

 private:
  struct Live {
    Bytes bytes;
    StackId stack;
    bool is_live = false;
  };

  void begin(AllocationId id, Bytes bytes, StackId stack) {
    end(id);
    live_[id.index()] = {bytes, stack, true};
    total_ += bytes;
  }

  void end(AllocationId id) {
    Live& live = live_[id.index()];
    if (live.is_live) {
      total_ -= live.bytes;
      live.is_live = false;
    }
  }

  const RequestTrace* trace_;
  const std::vector<OlderBlockStack>* older_;
  std::uint64_t last_;
  std::uint64_t next_ = 0;
  std::vector<Live> live_;  ///< by AllocationId
  Bytes total_;
  Bytes highest_;
  std::optional<std::uint64_t> highest_at_;
};

}  // namespace

std::optional<LiveMemory> live_bytes_at(const RequestTrace& trace,
                                        const std::vector<OlderBlockStack>& older,
                                        const LiveChoice& choice, const WatchedReplay& observe) {
  const auto* operation = std::get_if<std::uint64_t>(&choice);
  std::uint64_t last = operation != nullptr ? *operation : kNever;
  if (choice == LiveChoice(LiveExtreme::peak)) {
    LiveCounter search(trace, older, kNever);
    observe(search);
    last = search.highest_at().value_or(kNever);
  }
  LiveCounter collect(trace, older, last);
  observe(collect);
  if (operation != nullptr && last >= collect.operations()) {
    return std::nullopt;
  }
  return collect.take();
}

}  // namespace highwater
