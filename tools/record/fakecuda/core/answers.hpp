// Values that the program under test reads from the device although no kernel computed them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace highwater::fakecuda {

/// The next copy of `size` bytes from the device delivers these. Answers of one size are used in
/// order.
void add_answer(const void* bytes, std::size_t size);
void forget_answers();

/// Delivers the next answer of that size; false without one.
bool take_answer(void* to, std::size_t size);

/// A copy to the host delivered unknown bytes: counted if it is as small as the values that
/// programs branch on.
void count_unknown_read(std::size_t size);

/// The copies of at most 64 bytes that delivered zeros for unknown bytes.
std::uint64_t unknown_reads();

}  // namespace highwater::fakecuda
