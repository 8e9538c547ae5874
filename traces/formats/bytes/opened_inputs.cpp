#include "traces/formats/bytes/opened_inputs.hpp"

#include <cstddef>
#include <mutex>

#include <fmt/format.h>

#include "traces/error.hpp"

namespace highwater {

/// Inputs are read from several threads.
struct FilesOfRuns {
  using FileIdentity = OutputClaim::FileIdentity;

  std::mutex mutex;
  std::map<FileIdentity, std::string> inputs;
  std::multimap<FileIdentity, std::string> outputs;
  std::size_t runs = 0;  ///< that have not ended
};

namespace {

FilesOfRuns& files_of_runs() {
  static FilesOfRuns files;
  return files;
}

FilesOfRuns::FileIdentity identity(const struct stat& status) {
  return {status.st_dev, status.st_ino};
}

UsageError input_is_output(const std::string& input, const std::string& output) {
  if (output == kStandardOutput) {
    return UsageError(input + ": standard output goes to this file; choose another one for it");
  }
  return UsageError(
      fmt::format("{}: is {}; choose another name for the output", output,
                  input == output ? "the input itself" : "the same file as the input " + input));
}

// Remembered first: whoever makes light of the error must not write afterwards.
void remember(const struct stat& status, const std::string& name) {
  if (!S_ISREG(status.st_mode)) {
    return;
  }
  FilesOfRuns& files = files_of_runs();
  const std::lock_guard lock(files.mutex);
  files.inputs.emplace(identity(status), name);
  if (const auto output = files.outputs.find(identity(status)); output != files.outputs.end()) {
    throw input_is_output(name, output->second);
  }
}

/// @pre the lock is held
void require_no_input(const FilesOfRuns& files, const FilesOfRuns::FileIdentity& file,
                      const std::string& output) {
  if (const auto input = files.inputs.find(file); input != files.inputs.end()) {
    throw input_is_output(input->second, output);
  }
}

}  // namespace

void remember_input(int descriptor, const std::string& name) {
  struct stat status {};

  if (::fstat(descriptor, &status) == 0) {
    remember(status, name);
  }
}

void remember_input(const std::filesystem::path& path) {
  struct stat status {};

  if (::stat(path.c_str(), &status) == 0) {
    remember(status, path.string());
  }
}

OutputClaim::OutputClaim(const struct stat& status, std::string output) {
  if (S_ISREG(status.st_mode)) {
    FilesOfRuns& files = files_of_runs();
    const std::lock_guard lock(files.mutex);
    require_no_input(files, identity(status), output);
    claim_ = files.outputs.emplace(identity(status), std::move(output));
  }
}

OutputClaim::~OutputClaim() {
  if (claim_) {
    FilesOfRuns& files = files_of_runs();
    const std::lock_guard lock(files.mutex);
    files.outputs.erase(*claim_);
  }
}

void OutputClaim::require_unread() const {
  if (claim_) {
    const FilesOfRuns& files = files_of_runs();
    const std::lock_guard lock(files_of_runs().mutex);
    require_no_input(files, (*claim_)->first, (*claim_)->second);
  }
}

InputsOfRun::InputsOfRun() {
  FilesOfRuns& files = files_of_runs();
  const std::lock_guard lock(files.mutex);
  ++files.runs;
}

InputsOfRun::~InputsOfRun() {
  FilesOfRuns& files = files_of_runs();
  const std::lock_guard lock(files.mutex);
  if (--files.runs == 0) {
    files.inputs.clear();
  }
}

}  // namespace highwater
