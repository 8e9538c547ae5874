// Files and folders that exist until they are renamed to what they are meant to be, or are removed.
//
// Names are random, so that writers in containers that share a folder and a process number never
// meet. A process that a signal ends leaves none behind (signal_cleanup.hpp).
#pragma once

#include <filesystem>
#include <string>

#include "traces/formats/bytes/signal_cleanup.hpp"

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
  RemovedOnSignal removed_;
  int descriptor_;
  bool renamed_ = false;
};

/// Only its owner can open it.
class TemporaryFolder {
 public:
  /// Makes an empty folder whose name is `prefix` and random digits. @throws std::system_error
  explicit TemporaryFolder(const std::filesystem::path& prefix);

  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  /// Removes the folder with all that is in it, unless it has been renamed.
  ~TemporaryFolder();

  [[nodiscard]] std::filesystem::path path() const { return path_; }

  /// @throws std::system_error if `target` is anything but an empty folder or nothing
  void rename_to(const std::filesystem::path& target);

 private:
  std::string path_;
  RemovedOnSignal removed_;
  bool renamed_ = false;
};

}  // namespace highwater
