// Keeps the snapshots that are read at the same time within a bound.
//
// A replayed snapshot takes about 0.8 times the bytes of its pickle (tools/docs/speed.md), so that
// one per core of the largest kind would fill a machine. Small ones all pass; one larger than the
// bound passes alone.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace highwater {

class MemoryGate {
 public:
  explicit MemoryGate(std::uint64_t bound) : bound_(bound) {}

  /// While it lives, its bytes count.
  class Pass {
   public:
    Pass(MemoryGate& gate, std::uint64_t bytes) : gate_(gate), bytes_(gate.counted(bytes)) {
      gate_.enter(bytes_);
    }

    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

    ~Pass() { gate_.leave(bytes_); }

   private:
    MemoryGate& gate_;
    std::uint64_t bytes_;
  };

  /// Whether a Pass for `bytes` would not wait now.
  [[nodiscard]] bool would_pass(std::uint64_t bytes) {
    const std::lock_guard lock(lock_);
    return used_ + counted(bytes) <= bound_;
  }

 private:
  [[nodiscard]] std::uint64_t counted(std::uint64_t bytes) const { return std::min(bytes, bound_); }

  void enter(std::uint64_t bytes) {
    std::unique_lock lock(lock_);
    has_left_.wait(lock, [&] { return used_ + bytes <= bound_; });
    used_ += bytes;
  }

  void leave(std::uint64_t bytes) {
    {
      const std::lock_guard lock(lock_);
      used_ -= bytes;
    }
    has_left_.notify_all();
  }

  std::uint64_t bound_;
  std::uint64_t used_ = 0;
  std::mutex lock_;
  std::condition_variable has_left_;
};

}  // namespace highwater
