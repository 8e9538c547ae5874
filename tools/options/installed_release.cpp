#include "tools/options/installed_release.hpp"

#include <chrono>
#include <string_view>

#include <fmt/format.h>

#include "tools/engine/python_command.hpp"
#include "tools/engine/python_process.hpp"
#include "tools/text/progress_line.hpp"
#include "traces/error.hpp"
#include "traces/program_ban.hpp"
#include "traces/release.hpp"

namespace highwater {
namespace {

constexpr std::chrono::seconds kLongest{60};

/// The release goes where questions come from: what Python prints besides is no release.
constexpr std::string_view kTellsRelease =
    "import importlib.metadata as m, os; os.write(0, (m.version(sys.argv[1]) + '\\n').encode())";

/// Empty if there is no such package. @throws InputError if there is no Python that answers
std::string version_of(const std::string& package) {
  return with_progress("asking python3", [&] {
    return ask_once(python_command("python3", kTellsRelease, {package}),
                    python_environment(current_environment()), kLongest)
        .text;
  });
}

}  // namespace

std::string installed_release(const std::string& package, const std::string& option) {
  require_programs("python3");
  std::string version;
  try {
    version = version_of(package);
  } catch (const InputError& error) {
    throw UsageError(fmt::format("--{} auto: the python3 on the PATH: {}; name the release itself",
                                 option, error.problem()));
  }
  const auto release = parse_release(version);
  if (!release) {
    throw UsageError(fmt::format(
        "--{} auto: the python3 on the PATH has no {}; install it there, or name its release",
        option, package));
  }
  return to_string(*release);
}

}  // namespace highwater
