// Runs of a few requests, written as text traces in MiB, and the device that they run on.
#pragma once

#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "sim/replay/replay.hpp"

namespace highwater::test {

inline ReplayOptions on_device(Bytes capacity) {
  ReplayOptions options;
  options.version = &version_preset("2.6");
  options.capacity = capacity;
  return options;
}

/// A request; `rest` is the stream, and the stack if it has one: "0 @2".
inline std::string alloc(const std::string& name, std::uint64_t mib,
                         const std::string& rest = "0") {
  return fmt::format("a {} {} {}\n", name, mib << 20U, rest);
}

}  // namespace highwater::test
