#include "tests/tools/record/fakecuda/probe_run.hpp"

#include <array>
#include <cstdio>
#include <sys/wait.h>

namespace highwater {

ProbeRun run_probe(int major, const std::string& scenario, const std::string& environment) {
  const std::string program = major == 12 ? HIGHWATER_FAKECUDA12_PROBE : HIGHWATER_FAKECUDA13_PROBE;
  // The program's own leaks and the sanitizers' are not the question; the address range is.
  const std::string line =
      "env ASAN_OPTIONS=detect_leaks=0 " + environment + " '" + program + "' " + scenario + " 2>&1";
  std::FILE* const pipe = popen(line.c_str(), "r");
  ProbeRun run;
  std::array<char, 4096> buffer;
  for (std::size_t got; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    run.out.append(buffer.data(), got);
  }
  const int status = pclose(pipe);
  run.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return run;
}

}  // namespace highwater
