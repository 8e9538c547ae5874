#include "traces/formats/bytes/opened_inputs.hpp"

#include <cstddef>
#include <map>
#include <mutex>
#include <unistd.h>
#include <utility>

#include "traces/error.hpp"

namespace highwater {
namespace {

using FileIdentity = std::pair<dev_t, ino_t>;

/// Inputs are read from several threads.
struct OpenedInputs {
  std::mutex mutex;
  std::map<FileIdentity, std::string> names;
  std::size_t runs = 0;  ///< that have not ended
};

OpenedInputs& opened_inputs() {
  static OpenedInputs inputs;
  return inputs;
}

FileIdentity identity(const struct stat& status) {
  return {status.st_dev, status.st_ino};
}

bool is_standard_output(const struct stat& status) {
  struct stat output {};

  return ::fstat(STDOUT_FILENO, &output) == 0 && identity(output) == identity(status);
}

}  // namespace

// Standard output is open before any input is.
void remember_input(int descriptor, const std::string& name) {
  struct stat status {};

  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
    if (is_standard_output(status)) {
      throw UsageError(name + ": standard output goes to this file; choose another one for it");
    }
    OpenedInputs& inputs = opened_inputs();
    const std::lock_guard lock(inputs.mutex);
    inputs.names.emplace(identity(status), name);
  }
}

std::optional<std::string> input_behind(const struct stat& status) {
  OpenedInputs& inputs = opened_inputs();
  const std::lock_guard lock(inputs.mutex);
  const auto found = inputs.names.find(identity(status));
  return found == inputs.names.end() ? std::nullopt : std::optional(found->second);
}

InputsOfRun::InputsOfRun() {
  OpenedInputs& inputs = opened_inputs();
  const std::lock_guard lock(inputs.mutex);
  ++inputs.runs;
}

InputsOfRun::~InputsOfRun() {
  OpenedInputs& inputs = opened_inputs();
  const std::lock_guard lock(inputs.mutex);
  if (--inputs.runs == 0) {
    inputs.names.clear();
  }
}

}  // namespace highwater
