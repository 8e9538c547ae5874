// A recorded loop of tests/data/loops beside what one types first.
#pragma once

#include <cmath>
#include <string>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"

namespace loops_test {

using namespace highwater;

inline const std::string kLoops = HIGHWATER_TEST_DATA "/loops/";

inline double figure(const boost::json::object& run, const char* which) {
  return run.at("peak").at(which).to_number<double>();
}

/// Shares of a peak.
struct Tolerance {
  double allocated = 3e-5;
  double reserved = 1e-9;
};

/// Which rank was recorded, and under which releases.
struct Run {
  std::string rank = "0";
  std::string torch = "2.15";
  std::string transformers = "5.23";
};

/// `recording` beside what `options` say of it.
inline void check_peaks(const std::string& recording, const std::string& options,
                        const Tolerance& tolerance = {}, const Run& run = {}) {
  const auto recorded = json_of("replay " + kLoops + recording + ".hwt.xz");
  const auto simulated =
      json_of("simulate --cudnn-workspaces none --rank " + run.rank + " --torch " + run.torch +
              " --transformers " + run.transformers + " --model " + kLoops + options);
  const auto& device = recorded.at("devices").at(0).as_object();
  const auto error = [&](const char* which) {
    return std::abs(figure(simulated, which) / figure(device, which) - 1);
  };
  CAPTURE(recording, error("allocated_bytes"), error("reserved_bytes"));
  CHECK(error("allocated_bytes") < tolerance.allocated);
  CHECK(error("reserved_bytes") < tolerance.reserved);
}

}  // namespace loops_test
