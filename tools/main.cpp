#include <iostream>
#include <malloc.h>

#include "tools/program/defaults_file.hpp"
#include "tools/program/launched_program.hpp"
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
void keep_room_for_trace() {
  constexpr int kTrace = 4 << 20;
  mallopt(M_TOP_PAD, kTrace);
}

/// A search for plans makes hundreds of short traces, each in the memory of the one before it: to
/// give that back and take it anew is a tenth of the search's time.
void keep_large_blocks() {
  constexpr int kLarge = 32 << 20;  // the most that glibc takes
  constexpr int kKept = 256 << 20;
  mallopt(M_MMAP_THRESHOLD, kLarge);
  mallopt(M_TRIM_THRESHOLD, kKept);
}

bool is_search(const highwater::Arguments& arguments) {
  return !arguments.empty() && arguments.front() == "plan";
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const highwater::Arguments arguments = highwater::choose_defaults_file({argv + 1, argv + argc});
    if (is_search(arguments)) {
      keep_large_blocks();
    } else {
      return_large_blocks();
      keep_room_for_trace();
    }
    highwater::secure_standard_descriptors();
    highwater::clean_up_on_signals();
    highwater::StandardOutput out;
    const auto finish = [&out] { out.finish(); };
    return static_cast<int>(highwater::run_launched_program(arguments, out, std::cerr, finish));
  } catch (const std::exception& error) {  // before there was a command
    std::cerr << "highwater: " << error.what() << "\n";
    return static_cast<int>(highwater::ExitCode::internal);
  }
}
