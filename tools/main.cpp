#include <iostream>
#include <malloc.h>

#include "tools/commands/launched_program.hpp"
#include "tools/text/standard_streams.hpp"
#include "traces/formats/bytes/temporary_file.hpp"

namespace {

/// Blocks as large as those that hold a recording go back to the system when they are freed. Left
/// alone, glibc raises its limit with the first one that is, and keeps the others.
void return_large_blocks() {
  constexpr int kLarge = 256 << 10;
  mallopt(M_MMAP_THRESHOLD, kLarge);
}

/// The traces of plans come and go by the piece. At the end of the heap there is room for one,
/// which glibc would give back with each and have the system clear for the next.
void keep_small_heap() {
  constexpr int kTrace = 4 << 20;
  mallopt(M_TOP_PAD, kTrace);
}

}  // namespace

int main(int argc, char** argv) {
  return_large_blocks();
  keep_small_heap();
  highwater::secure_standard_descriptors();
  highwater::remove_temporary_files_on_signals();
  const highwater::Arguments arguments(argv + 1, argv + argc);
  highwater::StandardOutput out;
  const auto finish = [&out] { out.finish(); };
  return static_cast<int>(highwater::run_launched_program(arguments, out, std::cerr, finish));
}
