// Files that exist until they are renamed to what they are meant to be, or are removed.
//
// Names are random, so that writers in containers that share a folder and a process number never
// meet. A process that ends by a signal of the terminal or of a batch system leaves none behind;
// only SIGKILL and a power cut do.
#pragma once

#include <filesystem>
#include <string>

namespace highwater {

class TemporaryFile {
 public:
  /// Creates an empty file in `folder`, which rename needs to be that of the final name; its mode
  /// follows the umask. @throws std::system_error
  explicit TemporaryFile(const std::filesystem::path& folder);

  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  /// Removes the file unless it has been renamed.
  ~TemporaryFile();

  /// Open for writing; whoever takes it closes it.
  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// Replaces what `target` names, whole. @throws std::system_error
  void rename_to(const std::filesystem::path& target);

 private:
  std::string path_;
  int slot_;  ///< in the list of what a signal removes
  int descriptor_;
  bool renamed_ = false;
};

/// From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT remove the temporary files before they end the
/// process. One that is ignored stays so, as under nohup.
void remove_temporary_files_on_signals();

}  // namespace highwater
