#include <iostream>

#include "tools/commands/program.hpp"
#include "tools/text/standard_streams.hpp"
#include "traces/formats/bytes/temporary_file.hpp"

int main(int argc, char** argv) {
  highwater::secure_standard_descriptors();
  highwater::remove_temporary_files_on_signals();
  const highwater::Arguments arguments(argv + 1, argv + argc);
  highwater::StandardOutput out;
  return static_cast<int>(highwater::run_program(arguments, out, std::cerr));
}
