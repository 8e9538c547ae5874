#include <iostream>

#include "tools/commands/program.hpp"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const highwater::Arguments arguments(argv + 1, argv + argc);
  return static_cast<int>(highwater::run_program(arguments, std::cout, std::cerr));
}
