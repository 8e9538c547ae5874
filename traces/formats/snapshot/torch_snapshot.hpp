// Reads the memory snapshots of PyTorch (torch.cuda.memory._dump_snapshot) without Python.
//
// The file is a pickle. It is read in one pass by a stack machine that knows only data opcodes and
// never executes anything; trace entries become 32-byte records while they stream by. All
// generations are read (PyTorch 1.13 to the 2026 releases, written by Python or by C++), and so is
// the bare list of segments that torch.cuda.memory_snapshot() returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "traces/formats/bytes/byte_source.hpp"
#include "traces/recording.hpp"

namespace highwater {

/// Whether to read call stacks. They make up most of a file, and reading them costs memory.
enum class StackMode : std::uint8_t { skip, keep };

struct SnapshotOptions {
  StackMode stacks = StackMode::skip;
};

/// @throws InputError with byte offset and field path
Recording read_torch_snapshot(ByteSource& source, const SnapshotOptions& options);

/// Whether the first bytes look like a pickle: 0x80 and a protocol from 2 to 5.
bool looks_like_pickle(std::span<const std::byte> first_bytes);

}  // namespace highwater
