// Runs the program inside the test and keeps what it printed.
#pragma once

#include <string>

#include "tools/program.hpp"

namespace highwater {

struct CommandRun {
  ExitCode code = ExitCode::ok;
  std::string out;
  std::string err;
};

CommandRun run(const Arguments& arguments);

}  // namespace highwater
