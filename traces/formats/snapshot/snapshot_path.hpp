// The machine's position in the snapshot, such as "device_traces[0][17]": derived from its stack
// only when an error message needs it, so it does not slow down reading.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "traces/formats/snapshot/snapshot_store.hpp"

namespace highwater::detail {

/// The path of stack[target]; marks are stack sizes, ascending. Empty for the outermost value.
std::string snapshot_path(std::span<const PickleValue> stack, std::span<const std::size_t> marks,
                          std::size_t target, const SnapshotStore& store);

/// Whether a path from snapshot_path leads through a key whose value Highwater ignores.
bool is_unused_place(std::string_view path);

/// `path` followed by `field`; either may be empty.
std::string join_path(std::string path, const std::string& field);

}  // namespace highwater::detail
