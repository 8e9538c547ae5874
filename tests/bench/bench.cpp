// Nanoseconds per operation of the model, of the plain std::set implementation and, where it is
// installed, of PyTorch's own allocator library, in turn and in one run, so that the ratios hold on
// a noisy machine. All must reach the same statistics.
//
// The plain implementation is timed twice: by handle, as the model is used, and by address, as
// PyTorch's own free(void*) is, which has to find the block in a table of pointers first.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "allocator/caching_allocator.hpp"
#include "allocator/simulated_device.hpp"
#include "sim/replay/replay.hpp"
#include "tests/bench/torch_allocator.hpp"
#include "tests/bench/workloads.hpp"
#include "tests/support/oracle/naive_allocator.hpp"
#include "tests/support/recorded_releases.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"

namespace {

using namespace highwater;
using namespace highwater::bench;

constexpr int kRounds = 5;

const VersionPreset& newest_release() {
  return version_preset(kNewestTorch);
}

struct Measurement {
  double nanoseconds = 0;  ///< per operation
  std::uint64_t peak_reserved = 0;
  std::optional<std::int64_t> allocated_total;
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
  Allocator allocator(device, parse_settings(workload.conf, newest_release()), newest_release());
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
          static_cast<std::uint64_t>(stats.all(Stat::reserved_bytes).peak),
          stats.all(Stat::allocated_bytes).allocated};
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// One implementation's figures, and its time in relation to the model's.
class Contender {
 public:
  void add(const Workload& workload, const Measurement& model, const Measurement& measured) {
    const bool same_total =
        !measured.allocated_total || measured.allocated_total == model.allocated_total;
    if (measured.peak_reserved != model.peak_reserved || !same_total) {
      std::cerr << workload.name << ": the implementations disagree\n";
      std::exit(EXIT_FAILURE);
    }
    nanoseconds_.push_back(measured.nanoseconds);
    ratios_.push_back(measured.nanoseconds / model.nanoseconds);
  }

  [[nodiscard]] std::string cells() const {
    return nanoseconds_.empty()
               ? fmt::format(" {:>10} {:>7}", "-", "-")
               : fmt::format(" {:>10.1f} {:>6.1f}x", median(nanoseconds_), median(ratios_));
  }

 private:
  std::vector<double> nanoseconds_;
  std::vector<double> ratios_;
};

void compare(const Workload& workload, const std::optional<TorchLibrary>& torch) {
  std::vector<double> model;
  Contender by_handle;
  Contender by_address;
  Contender pytorch;
  for (int round = 0; round < kRounds; ++round) {
    const Measurement m = run<CachingAllocator>(workload);
    model.push_back(m.nanoseconds);
    by_handle.add(workload, m, run<oracle::NaiveAllocator>(workload));
    by_address.add(workload, m, run<NaiveByAddress>(workload));
    const auto measured = torch ? torch->measure(workload) : std::nullopt;
    if (measured) {
      pytorch.add(workload, m, {measured->nanoseconds, measured->peak_reserved, std::nullopt});
    }
  }
  std::cout << fmt::format("{:<37} {:>6.1f}{}{}{}\n", workload.name, median(model),
                           by_handle.cells(), by_address.cells(),
                           torch ? pytorch.cells() : std::string());
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

/// Generating a plan's requests beside replaying them, with every step carried out.
void measure_generation(const char* model) {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model = model_preset(model);
  plan.precision = Precision::bf16;
  plan.steps = 10;
  RequestTrace trace;
  const double generating = seconds_of([&] { trace = generate(plan); });
  ReplayOptions options;
  options.version = &newest_release();
  options.repeated_steps = RepeatedSteps::carried_out;
  const double replaying = seconds_of([&] { replay(trace, options); });
  std::cout << fmt::format("{:<37} {:>9} {:>9.1f} {:>9.1f} {:>6.1f}x\n", model, trace.events.size(),
                           static_cast<double>(trace.events.size()) / generating / 1e6,
                           static_cast<double>(trace.events.size()) / replaying / 1e6,
                           generating / replaying);
}

/// The operations of a workload as a trace; each allocation gets a number of its own.
RequestTrace trace_of(const Workload& workload) {
  RequestTrace trace;
  trace.stream_handles.resize(workload.streams);
  std::vector<AllocationId> live(workload.slots);
  for (const Operation& operation : workload.operations) {
    if (operation.kind == OperationKind::alloc) {
      live[operation.slot] = AllocationId{trace.allocation_count++};
    }
    trace.events.push_back(
        {.value = operation.size.count(),
         .allocation = live[operation.slot],
         .stream = operation.stream,
         .kind = operation.kind == OperationKind::alloc ? EventKind::alloc : EventKind::free});
  }
  return trace;
}

/// A whole replay, with its curves and peaks: every step carried out, and repeated ones counted.
void measure_replay(const Workload& workload) {
  const RequestTrace trace = trace_of(workload);
  ReplayOptions options;
  options.version = &newest_release();
  options.settings = parse_settings(workload.conf, newest_release());
  const auto nanoseconds = [&](RepeatedSteps repeated) {
    options.repeated_steps = repeated;
    return seconds_of([&] { replay(trace, options); }) * 1e9 /
           static_cast<double>(trace.events.size());
  };
  const double carried_out = nanoseconds(RepeatedSteps::carried_out);
  const double counted = nanoseconds(RepeatedSteps::counted);
  std::cout << fmt::format("{:<37} {:>11.1f} {:>8.1f} {:>6.1f}x\n", workload.name, carried_out,
                           counted, carried_out / counted);
}

struct Arguments {
  std::size_t length = 2000000;
  bool only_replays = false;
  std::optional<TorchLibrary> torch;
};

/// [LENGTH [replays | TORCH FAKECUDA]]
Arguments parse(int argc, char** argv) {
  Arguments arguments;
  if (argc > 1) {
    arguments.length = std::strtoull(argv[1], nullptr, 10);
  }
  arguments.only_replays = argc == 3 && std::string(argv[2]) == "replays";
  if (argc > 3) {
    arguments.torch.emplace(argv[2], argv[3]);
    if (!arguments.torch->obstacle().empty()) {
      std::cerr << "PyTorch's own allocator is left out: " << arguments.torch->obstacle() << '\n';
      arguments.torch.reset();
    }
  }
  return arguments;
}

void compare_all(const Arguments& arguments) {
  const std::string torch =
      arguments.torch ? fmt::format(" {:>10} {:>7}", arguments.torch->name(), "ratio") : "";
  std::cout << fmt::format("{:<37} {:>6} {:>10} {:>7} {:>10} {:>7}{}\n",
                           "ns per operation, medians of 5", "model", "by handle", "ratio",
                           "by address", "ratio", torch);
  for (const MakeWorkload& make : workload_makers()) {
    compare(make(arguments.length), arguments.torch);
  }
  std::cout << '\n';
}

void measure_replays(std::size_t length) {
  std::cout << fmt::format("{:<37} {:>11} {:>8} {:>7}\n", "ns per operation of a replay",
                           "carried out", "counted", "ratio");
  for (const MakeWorkload& make : training_makers()) {
    measure_replay(make(length));
  }
}

void measure_generations() {
  std::cout << fmt::format("\n{:<37} {:>9} {:>9} {:>9} {:>7}\n",
                           "ten iterations, million events a second", "events", "generate",
                           "replay", "ratio");
  for (const char* model : {"gpt2", "llama-2-70b", "mixtral-8x7b"}) {
    measure_generation(model);
  }
}

TrainingPlan accumulating_plan() {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model = model_preset("llama-3-8b");
  plan.precision = Precision::bf16;
  plan.seq = {4096};
  plan.grad_accum = 512;
  return plan;
}

/// A pipeline of Megatron's whose stages take ten layers each, in five parts.
TrainingPlan interleaved_plan() {
  TrainingPlan plan = accumulating_plan();
  plan.model = model_preset("llama-3-70b");
  plan.framework = Framework::megatron;
  plan.model_code = ModelCode::megatron;
  plan.parallel.pp = 8;
  plan.batch = 1;
  plan.parallel.schedule = PipelineSchedule::interleaved;
  plan.parallel.chunks = 5;
  return plan;
}

/// Steps of many micro-batches: every one carried out, and made of two short runs.
void measure_rounds(const std::string& name, const TrainingPlan& plan) {
  const double carried_out = seconds_of([&] { generate_step_by_step(plan); });
  const double made = seconds_of([&] { generate(plan); });
  std::cout << fmt::format("{:<37} {:>11.2f} {:>8.2f} {:>6.1f}x\n", name, carried_out, made,
                           carried_out / made);
}

void measure_long_steps() {
  std::cout << fmt::format("\n{:<37} {:>11} {:>8} {:>7}\n", "seconds, three steps of 512 each",
                           "carried out", "made", "ratio");
  measure_rounds("Llama 3 8B", accumulating_plan());
  measure_rounds("Llama 3 70B, interleaved pipeline", interleaved_plan());
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  if (!arguments.only_replays) {
    compare_all(arguments);
  }
  measure_replays(arguments.length);
  if (!arguments.only_replays) {
    measure_generations();
    measure_long_steps();
  }
}
