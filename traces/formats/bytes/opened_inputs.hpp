// The files that this run has read, so that no output replaces one of them.
//
// A slip of the command line (`report X --output X`) must not cost the only copy of an input. Files
// are known by device and inode: symbolic and hard links lead to the same one.
#pragma once

#include <optional>
#include <string>
#include <sys/stat.h>

namespace highwater {

/// Remembers what `descriptor` reads, if it is a regular file. @throws UsageError if it is the one
/// that standard output goes to
void remember_input(int descriptor, const std::string& name);

/// The name under which the file of `status` has been read; nothing if it has not.
std::optional<std::string> input_behind(const struct stat& status);

/// One run: what it read is forgotten when it and all that overlap it have ended.
class InputsOfRun {
 public:
  InputsOfRun();
  InputsOfRun(const InputsOfRun&) = delete;
  InputsOfRun& operator=(const InputsOfRun&) = delete;
  ~InputsOfRun();
};

}  // namespace highwater
