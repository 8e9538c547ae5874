// The peak that a run had when it was accepted, as a file to keep beside the code: what `check`
// compares with, and enough of who held it to say who grew.
//
// JSON with one call site a line, in order of name, so that a change of it can be reviewed.
#pragma once

#include <string>
#include <vector>

#include "sim/peak/peak_change.hpp"
#include "traces/formats/bytes/byte_sink.hpp"

namespace highwater {

struct BaselineDevice {
  int device = 0;
  std::string torch;     ///< whose allocator was modelled
  std::string settings;  ///< as PYTORCH_CUDA_ALLOC_CONF; empty: default
  NamedPeak peak;        ///< of the call sites only those that hold something
};

struct Baseline {
  std::string subject;  ///< the file or the plan
  std::vector<BaselineDevice> devices;

  [[nodiscard]] const BaselineDevice* find(int device) const;
};

/// @throws InputError with the path of the field that is wrong
Baseline read_baseline(const std::string& path);

/// Puts it in place; to be called once.
void write_baseline(const Baseline& baseline, ByteSink& sink);

}  // namespace highwater
