// Runs `simulate` on sequences of 64 tokens, and finds numbers in its report.
#pragma once

#include <cstdint>
#include <string>

#include <boost/json.hpp>

#include "tests/support/command_run.hpp"

namespace highwater::test {

using Object = boost::json::object;

inline constexpr std::int64_t kMiB = 1 << 20;

inline CommandRun simulate(const std::string& options) {
  return run_line("simulate --seq 64 " + options);
}

inline Object simulate_json(const std::string& options) {
  return json_of("simulate --seq 64 " + options);
}

inline std::int64_t number(const boost::json::value& value) {
  return value.to_number<std::int64_t>();
}

inline std::int64_t peak(const Object& run, const std::string& curve = "allocated") {
  return number(run.at("peak").at(curve + "_bytes"));
}

}  // namespace highwater::test
