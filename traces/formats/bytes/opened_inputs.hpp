// The files that this run reads, and those that it writes, so that no output replaces an input.
//
// A slip of the command line (`report X --output X`) must not cost the only copy of an input. Files
// are known by device and inode: symbolic and hard links lead to the same one. Every reader says
// what it reads and every sink claims what it writes, each of which fails where the other was
// there: it does not matter which of the two comes first.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <utility>

namespace highwater {

/// Remembers what `descriptor` reads, if it is a regular file. @throws UsageError if this run
/// writes it
void remember_input(int descriptor, const std::string& name);

/// The same of a file that is read later, or by another program. Whatever is no file is passed
/// over.
void remember_input(const std::filesystem::path& path);

/// The file that an output replaces or is written into, as long as the output is open.
class OutputClaim {
 public:
  /// Of nothing: a file that is not there yet, or is no regular one.
  OutputClaim() = default;

  /// `output` names it in messages. @throws UsageError if this run has read the file of `status`
  OutputClaim(const struct stat& status, std::string output);

  OutputClaim(OutputClaim&& other) noexcept : claim_(std::exchange(other.claim_, std::nullopt)) {}

  OutputClaim& operator=(OutputClaim&& other) noexcept {
    std::swap(claim_, other.claim_);
    return *this;
  }

  ~OutputClaim();

  /// To be called before bytes are written. @throws UsageError if this run has read the file since
  void require_unread() const;

 private:
  using FileIdentity = std::pair<dev_t, ino_t>;

  friend struct FilesOfRuns;

  std::optional<std::multimap<FileIdentity, std::string>::iterator> claim_;
};

/// One run: what it read is forgotten when it and all that overlap it have ended.
class InputsOfRun {
 public:
  InputsOfRun();
  InputsOfRun(const InputsOfRun&) = delete;
  InputsOfRun& operator=(const InputsOfRun&) = delete;
  ~InputsOfRun();
};

/// The name of standard output in messages.
inline constexpr const char* kStandardOutput = "standard output";

}  // namespace highwater
