// What is known about the contents of device memory.
//
// A copy from the host is remembered until the next kernel launch, which may have changed anything;
// everything else reads as zeros. That is exact: what was copied and not touched since is really
// there (DDP reads bucket indices and shapes back this way).
#pragma once

#include <cstddef>
#include <cstdint>

namespace highwater::fakecuda {

/// The bytes at `to` are those at `from`. Longer writes than 1 MiB are not remembered.
void write_contents(std::uint64_t to, const void* from, std::size_t size);

/// Puts the known bytes of [from, from + size) at their places in `to` and leaves the others alone.
/// Returns how many were known.
std::size_t read_contents(void* to, std::uint64_t from, std::size_t size);

/// A copy inside device memory.
void move_contents(std::uint64_t to, std::uint64_t from, std::size_t size);

void forget_contents(std::uint64_t address, std::size_t size);
void forget_all_contents();

}  // namespace highwater::fakecuda
