#include "tools/options/installed_release.hpp"

#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "traces/program_ban.hpp"
#include "traces/release.hpp"

namespace highwater {
namespace {

/// What `command` prints, empty if it fails.
std::string output_of(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  for (int c = 0; pipe && (c = std::fgetc(pipe.get())) != EOF;) {
    text += static_cast<char>(c);
  }
  return text;
}

}  // namespace

std::string installed_release(const std::string& package, const std::string& option) {
  require_programs("python3");
  const std::string version = output_of(fmt::format(
      "python3 -c 'import importlib.metadata as m; print(m.version(\"{}\"))' 2>/dev/null",
      package));
  const auto release = parse_release(version);
  if (!release) {
    throw UsageError(fmt::format(
        "--{} auto: the python3 on the PATH has no {}; install it there, or name its release",
        option, package));
  }
  return to_string(*release);
}

}  // namespace highwater
