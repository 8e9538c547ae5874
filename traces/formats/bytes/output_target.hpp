// Where the name of an output leads: links followed, descriptors recognised.
//
// A file is replaced by renaming, which would replace a symbolic link instead of the file behind
// it, and turn /dev/stdout into a regular file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <system_error>

namespace highwater {

struct OutputTarget {
  enum class Kind : std::uint8_t {
    file,        ///< a regular file, or a name where one can be made
    descriptor,  ///< open in this process: /dev/stdout, /dev/fd/N, /proc/self/fd/N
    special      ///< a device, a pipe, a descriptor of another process: opened and written
  };

  Kind kind = Kind::file;
  std::filesystem::path path;  ///< without symbolic links in its last part
  int descriptor = -1;
};

/// @throws UsageError if links lead in a circle, or to a folder that does not exist.
OutputTarget output_target(const std::filesystem::path& name);

/// @throws UsageError always
[[noreturn]] void fail_to_create(const std::filesystem::path& name, const std::error_code& reason);

/// Whether what is written to `name` ("-", or any path to descriptor 1) mixes with this process's
/// reports. False for names that cannot be outputs.
bool is_standard_output(const std::filesystem::path& name);

}  // namespace highwater
