#include "tests/support/command_run.hpp"

#include <sstream>

namespace highwater {

CommandRun run(const Arguments& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const ExitCode code = run_program(arguments, out, err);
  return {code, out.str(), err.str()};
}

}  // namespace highwater
