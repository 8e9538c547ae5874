#include "tools/record/fakecuda/nccl/grouped_broadcasts.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "tools/record/fakecuda/core/contents.hpp"

namespace highwater::fakecuda {
namespace {

thread_local int t_depth = 0;
thread_local std::vector<Broadcast> t_waiting;

void settle(const std::vector<Broadcast>& calls) {
  for (const Broadcast& call : calls) {
    const auto own = std::ranges::find_if(
        calls, [&](const Broadcast& other) { return other.is_own && other.bytes == call.bytes; });
    move_contents(call.to, own == calls.end() ? call.from : own->from, call.bytes);
  }
}

}  // namespace

void start_group() {
  ++t_depth;
}

void end_group() {
  t_depth = std::max(t_depth - 1, 0);
  if (t_depth == 0) {
    settle(std::exchange(t_waiting, {}));
  }
}

void broadcast(const Broadcast& call) {
  if (t_depth > 0) {
    t_waiting.push_back(call);
  } else {
    settle({call});
  }
}

}  // namespace highwater::fakecuda
