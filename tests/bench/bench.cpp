// Nanoseconds per operation of the model and of the plain std::set implementation, in turn and in
// one run, so that the ratio holds on a noisy machine. Both must reach the same statistics.
//
// The plain implementation is timed twice: by handle, as the model is used, and by address, as
// PyTorch's own free(void*) is, which has to find the block in a table of pointers first.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "allocator/caching_allocator.hpp"
#include "allocator/simulated_device.hpp"
#include "sim/replay/replay.hpp"
#include "tests/bench/workloads.hpp"
#include "tests/support/oracle/naive_allocator.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/training/generate.hpp"

namespace {

using namespace highwater;
using namespace highwater::bench;

constexpr int kRounds = 5;

struct Measurement {
  double nanoseconds = 0;  ///< per operation
  std::int64_t peak_reserved = 0;
  std::int64_t allocated_total = 0;
};

/// The plain implementation behind PyTorch's interface: allocations are named by their address.
class NaiveByAddress {
 public:
  struct Result {
    std::uint64_t block = 0;
  };

  NaiveByAddress(Device& device, const Settings& settings, const VersionPreset& version)
      : allocator_(device, settings, version) {}

  Result allocate(Bytes size, StreamId stream) {
    oracle::NaiveBlock* const block = allocator_.allocate(size, stream).block;
    const std::uint64_t address = block->address.value();
    blocks_.emplace(address, block);
    return {address};
  }

  void free(std::uint64_t address) {
    const auto found = blocks_.find(address);
    oracle::NaiveBlock* const block = found->second;
    blocks_.erase(found);
    allocator_.free(block);
  }

  void record_stream(std::uint64_t address, StreamId stream) {
    allocator_.record_stream(blocks_.at(address), stream);
  }

  void complete_events(StreamId stream) { allocator_.complete_events(stream); }

  [[nodiscard]] const auto& statistics() const { return allocator_.statistics(); }

 private:
  oracle::NaiveAllocator allocator_;
  std::unordered_map<std::uint64_t, oracle::NaiveBlock*> blocks_;
};

template <class Allocator>
Measurement run(const Workload& workload) {
  SimulatedDevice device({});
  Allocator allocator(device, parse_settings(workload.conf, version_preset("2.6")),
                      version_preset("2.6"));
  using Handle = decltype(allocator.allocate(Bytes{}, StreamId{}).block);
  std::vector<Handle> handles(workload.slots);
  const auto start = std::chrono::steady_clock::now();
  for (const Operation& operation : workload.operations) {
    switch (operation.kind) {
      case OperationKind::alloc:
        handles[operation.slot] = allocator.allocate(operation.size, operation.stream).block;
        break;
      case OperationKind::free:
        allocator.free(handles[operation.slot]);
        break;
      case OperationKind::record_stream:
        allocator.record_stream(handles[operation.slot], operation.stream);
        break;
      case OperationKind::events_done:
        allocator.complete_events(operation.stream);
        break;
    }
  }
  const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
  const auto& stats = allocator.statistics();
  return {elapsed.count() / static_cast<double>(workload.operations.size()),
          stats.all(Stat::reserved_bytes).peak, stats.all(Stat::allocated_bytes).allocated};
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void require_same(const Workload& workload, const Measurement& a, const Measurement& b) {
  if (a.peak_reserved != b.peak_reserved || a.allocated_total != b.allocated_total) {
    std::cerr << workload.name << ": the two implementations disagree\n";
    std::exit(EXIT_FAILURE);
  }
}

void compare(const Workload& workload) {
  std::vector<double> model;
  std::vector<double> by_handle;
  std::vector<double> by_address;
  std::vector<double> ratio_by_handle;
  std::vector<double> ratio_by_address;
  for (int round = 0; round < kRounds; ++round) {
    const Measurement m = run<CachingAllocator>(workload);
    const Measurement h = run<oracle::NaiveAllocator>(workload);
    const Measurement a = run<NaiveByAddress>(workload);
    require_same(workload, m, h);
    require_same(workload, m, a);
    model.push_back(m.nanoseconds);
    by_handle.push_back(h.nanoseconds);
    by_address.push_back(a.nanoseconds);
    ratio_by_handle.push_back(h.nanoseconds / m.nanoseconds);
    ratio_by_address.push_back(a.nanoseconds / m.nanoseconds);
  }
  std::cout << fmt::format("{:<37} {:>6.1f} {:>10.1f} {:>6.1f}x {:>10.1f} {:>6.1f}x\n",
                           workload.name, median(model), median(by_handle), median(ratio_by_handle),
                           median(by_address), median(ratio_by_address));
}

double seconds_of(const std::function<void()>& work) {
  std::vector<double> seconds;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    work();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return median(std::move(seconds));
}

/// Generating a plan's requests beside replaying them.
void measure_generation(const char* model) {
  TrainingPlan plan;
  plan.model = model_preset(model);
  plan.precision = Precision::bf16;
  plan.steps = 10;
  RequestTrace trace;
  const double generating = seconds_of([&] { trace = generate(plan); });
  ReplayOptions options;
  options.version = &version_preset("2.6");
  const double replaying = seconds_of([&] { replay(trace, options); });
  std::cout << fmt::format("{:<37} {:>9} {:>9.1f} {:>9.1f} {:>6.1f}x\n", model, trace.events.size(),
                           static_cast<double>(trace.events.size()) / generating / 1e6,
                           static_cast<double>(trace.events.size()) / replaying / 1e6,
                           generating / replaying);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t length = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 2000000;
  std::cout << fmt::format("{:<37} {:>6} {:>10} {:>7} {:>10} {:>7}\n",
                           "ns per operation, medians of 5", "model", "by handle", "ratio",
                           "by address", "ratio");
  for (const Workload& workload : make_workloads(length)) {
    compare(workload);
  }
  std::cout << fmt::format("\n{:<37} {:>9} {:>9} {:>9} {:>7}\n",
                           "ten iterations, million events a second", "events", "generate",
                           "replay", "ratio");
  for (const char* model : {"gpt2", "llama-2-70b", "mixtral-8x7b"}) {
    measure_generation(model);
  }
}
