// Opens whatever file the user names and recognises its format by its first bytes.
#pragma once

#include <string>
#include <variant>

#include "traces/formats/snapshot/torch_snapshot.hpp"
#include "traces/recording.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// What a file can hold: what a real allocator did, or what a program asks for.
using TraceFile = std::variant<RequestTrace, Recording>;

/// Reads a memory snapshot, a text trace or a binary trace, compressed or not; "-" is standard
/// input. @throws InputError
TraceFile read_trace_file(const std::string& path, StackMode stacks);

}  // namespace highwater
