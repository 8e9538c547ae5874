#include "tests/tools/record/fakecuda/probe.hpp"

#include <string_view>

using namespace highwater::fakecuda_probe;

namespace {

struct Scenario {
  std::string_view name;
  void (*run)();
};

constexpr Scenario kScenarios[] = {
    {"properties", properties},
    {"errors", errors},
    {"capacity", capacity},
    {"addresses", addresses},
    {"expandable", expandable},
    {"pool", pool},
    {"pinned", pinned},
    {"ipc", ipc},
    {"streams", streams},
    {"events", events},
    {"capture", capture},
    {"contents", contents},
    {"answers", answers},
    {"device_variables", device_variables},
    {"driver_launch", driver_launch},
    {"entry_points", entry_points},
    {"cublas", cublas},
    {"computations_and_events", computations_and_events},
    {"cublas_lt", cublas_lt},
    {"compiler", compiler},
    {"occupancy", occupancy},
    {"cudnn", cudnn},
    {"cudnn_graph", cudnn_graph},
    {"cudnn_executions", cudnn_executions},
    {"nccl", nccl},
    {"nvml", nvml},
    {"unmodelled", unmodelled},
    {"forked", forked},
    {"late", late},
};

}  // namespace

int main(int count, char** words) {
  for (const Scenario& scenario : kScenarios) {
    if (count == 2 && scenario.name == words[1]) {
      scenario.run();
      return 0;
    }
  }
  std::fprintf(stderr, "usage: %s SCENARIO\n", words[0]);
  return 2;
}
