// Reads the Chrome trace of torch.profiler.profile(profile_memory=True) as requests.
//
// Its events named "[memory]" have an address, the bytes of the whole block (negative where it is
// given back), and the totals allocated and reserved after it. They have no stream, no settings, no
// segments and no failures, and blocks older than the trace show when they are freed. Source:
// torch/csrc/autograd/profiler_kineto.cpp (ExtraFields<EventType::Allocation>), PyTorch 2.6
// to 2.15.
#pragma once

#include <cstddef>
#include <span>

#include "traces/formats/bytes/byte_source.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// What the trace says of the run besides its requests.
struct ProfiledRun {
  Bytes peak_allocated;
  Bytes peak_reserved;
  Bytes older;  ///< allocated when it began and never freed: in how many blocks is not known
};

struct ProfilerTrace {
  RequestTrace requests;
  ProfiledRun run;
};

/// The device with the most events. @throws InputError if it has none
ProfilerTrace read_profiler_trace(ByteSource& source);

/// Whether JSON with these first bytes is a Chrome trace.
bool looks_like_profiler_trace(std::span<const std::byte> first_bytes);

}  // namespace highwater
