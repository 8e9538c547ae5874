// A run over two segments, small enough to count by hand, and the options to replay it under.
#pragma once

#include <string>

#include "allocator/settings/version.hpp"
#include "sim/replay/replay.hpp"

namespace highwater::test {

inline ReplayOptions default_options() {
  ReplayOptions options;
  options.version = &version_preset("2.6");
  return options;
}

/// Two segments: 2 MiB for x; 20 MiB for y, released by the emptied cache.
inline const std::string kTrace =
    "conf \nstep 1\nphase forward\na x 1048576 0\na y 3145728 0\nphase backward\nf y\nc\n";

}  // namespace highwater::test
