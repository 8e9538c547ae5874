// The operation sequences that the benchmark times.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "traces/ids.hpp"
#include "traces/units.hpp"

namespace highwater::bench {

enum class OperationKind : std::uint8_t { alloc, free, record_stream, events_done };

/// An allocation lives in a slot until its free; slots are reused.
struct Operation {
  Bytes size;
  std::uint32_t slot = 0;
  StreamId stream;
  OperationKind kind = OperationKind::alloc;
};

struct Workload {
  std::string name;
  std::string conf;
  std::vector<Operation> operations;
  std::size_t slots = 0;
  std::size_t streams = 1;
};

/// Makes a workload of about `length` operations; one at a time, because 100 million take 2.4 GB.
using MakeWorkload = std::function<Workload(std::size_t length)>;

/// All workloads.
std::vector<MakeWorkload> workload_makers();

/// Those of recorded training alone.
std::vector<MakeWorkload> training_makers();

}  // namespace highwater::bench
