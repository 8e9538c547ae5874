#include "sim/replay/sweep.hpp"

#include <mutex>

#include "sim/replay/parallel.hpp"

namespace highwater {

std::vector<ReplayResult> sweep(const RequestTrace& trace, std::span<const ReplayOptions> cases,
                                const std::function<void(std::size_t)>& done) {
  std::vector<ReplayResult> results(cases.size());
  std::size_t finished = 0;
  std::mutex lock;
  for_each_index(cases.size(), [&](std::size_t i) {
    ReplayResult result = replay(trace, cases[i]);
    result.map = {};
    result.timeline = Timeline(0);
    results[i] = std::move(result);
    const std::lock_guard guard(lock);
    done(++finished);
  });
  return results;
}

}  // namespace highwater
