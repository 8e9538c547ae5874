// The options that a trace's header asks for.
#pragma once

#include "allocator/settings/settings.hpp"
#include "allocator/settings/version.hpp"
#include "sim/replay/replay.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

inline ReplayOptions options_for(const RequestTrace& trace) {
  ReplayOptions options;
  options.version = &version_preset("2.6");
  apply_settings(trace.header.settings, *options.version, options.settings);
  options.capacity = trace.header.capacity;
  options.fraction = trace.header.fraction;
  options.addresses = trace.header.addresses;
  return options;
}

}  // namespace highwater
