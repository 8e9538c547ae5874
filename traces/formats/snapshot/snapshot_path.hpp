// Where in the snapshot the machine stands, as "device_traces[0][17]": worked out from its stack
// only when an error needs it, so reading costs nothing for it.
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

/// Whether a path that snapshot_path gave leads through a key whose value is of no use to us.
bool is_unused_place(std::string_view path);

/// `path` with `field` behind it, either of which may be empty.
std::string join_path(std::string path, const std::string& field);

}  // namespace highwater::detail
