// Highwater's own binary format: request traces, recordings and scalable programs, small and quick
// to read.
//
// A recording takes about a tenth of its pickle or less before any compression; the layers are
// binary_stream (header, chunks, checksums), binary_tables (strings, stacks), and binary_requests,
// binary_recording or binary_program. Reading returns exactly what was written, field by field,
// provided that every id exists in its table and that allocation ids stay below the number of
// events: a reader refuses anything else, so its callers can index tables without a check.
#pragma once

#include <cstddef>
#include <span>
#include <variant>

#include "traces/formats/bytes/byte_sink.hpp"
#include "traces/formats/bytes/byte_source.hpp"
#include "traces/recording.hpp"
#include "traces/request_trace.hpp"
#include "traces/scalable_program.hpp"

namespace highwater {

/// Whether `head`, the first bytes of a file, has the magic number of the format, in any version.
bool looks_like_binary_trace(std::span<const std::byte> head);

/// Whether it is such a file that holds a scalable program.
bool looks_like_program(std::span<const std::byte> head);

/// @throws InputError with the byte offset if the file is not such a trace, or is damaged or
/// truncated.
std::variant<RequestTrace, Recording, ScalableProgram> read_binary_trace(ByteSource& source);

/// Each writes and commits.
void write_binary_trace(const RequestTrace& trace, ByteSink& sink);
void write_binary_trace(const Recording& recording, ByteSink& sink);
void write_binary_trace(const ScalableProgram& program, ByteSink& sink);

}  // namespace highwater
