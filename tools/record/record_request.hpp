// The options of `highwater record`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/text/output_format.hpp"
#include "traces/units.hpp"
#include "workloads/plan/gpu.hpp"

namespace highwater {

struct RecordRequest {
  Gpu gpu = default_gpu();
  std::optional<Bytes> capacity;  ///< all of it for the allocator; replaces the GPU's own
  std::uint32_t world = 0;        ///< ranks of a distributed run; 0: as the script says
  std::uint32_t rank = 0;         ///< the one that runs
  std::uint32_t steps = 0;        ///< the recording ends after this many optimizer steps; 0: never
  bool finish_step = false;       ///< the last step ends with the script's next forward pass
  std::uint64_t event_lag = 0;    ///< kernel launches by which the device lags behind the host
  std::string output = "record.pickle";
  std::string stacks = "python";  ///< none, python, all
  std::string cudnn;              ///< a folder with another cuDNN than the script's own, or empty
  std::string answers;            ///< "nonzero=0.25,item=1"
  std::string moe_load = "even";  ///< even, busiest:X, zipf:S, or shares: "0.5,0.3,0.2"
  std::vector<std::string> command;  ///< program and arguments
  OutputFormat format = OutputFormat::table;
};

}  // namespace highwater
