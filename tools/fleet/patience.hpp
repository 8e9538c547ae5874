// Waiting for messages without a core of its own.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace highwater {

/// Sleeps a little longer each time that nothing has come.
class Patience {
 public:
  void wait() {
    std::this_thread::sleep_for(pause_);
    pause_ = std::min(2 * pause_, kLongest);
  }

  void reset() { pause_ = kShortest; }

 private:
  static constexpr std::chrono::microseconds kShortest{10};
  static constexpr std::chrono::microseconds kLongest{2000};

  std::chrono::microseconds pause_ = kShortest;
};

}  // namespace highwater
