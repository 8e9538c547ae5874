// Request traces as output files: the name tells format and compression.
#pragma once

#include <string>

#include "traces/request_trace.hpp"

namespace highwater {

/// `path` without .gz, .xz or .zst at its end.
std::string without_compression(std::string path);

enum class TraceFormat { text, binary };

/// By the ending of the name: .trace (text) or .hwt (binary), with any .gz, .xz or .zst left out.
/// @throws UsageError when it names neither
TraceFormat trace_format(const std::string& path);

/// Writes `trace` in the format that the ending names; the file appears when it is complete.
void write_trace_file(const RequestTrace& trace, const std::string& path);

}  // namespace highwater
