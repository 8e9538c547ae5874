// Copies between host and device memory.
#pragma once

#include <cstddef>

namespace highwater::fakecuda {

/// Copies like cudaMemcpy with cudaMemcpyDefault: the addresses determine the direction. A copy
/// from the device delivers the next answer of that size, otherwise the known bytes, otherwise
/// zeros.
void copy_memory(void* to, const void* from, std::size_t size);

/// cudaMemset: device memory becomes unknown, unless it is filled with zeros, which it reads as
/// anyway.
void fill_memory(void* to, int value, std::size_t size);

}  // namespace highwater::fakecuda
