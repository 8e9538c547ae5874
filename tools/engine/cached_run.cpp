#include "tools/engine/cached_run.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <fmt/format.h>

#include "tools/engine/engine_recording.hpp"

namespace highwater {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSeal = "highwater-run";
constexpr std::string_view kMark = "highwater.run/1\n";
constexpr std::size_t kKeyLetters = 36;
constexpr std::size_t kBlock = std::size_t{1} << 20U;
constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

bool is_own(const struct stat& status) {
  return status.st_uid == ::geteuid() && (status.st_mode & kOthersWrite) == 0;
}

/// A regular file, no link, that belongs to this user and nobody else can write to.
class PrivateFile {
 public:
  /// @throws std::system_error if there is no such file
  explicit PrivateFile(const fs::path& path)
      : file_(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)) {
    struct stat status {};

    if (file_ < 0 || ::fstat(file_, &status) != 0) {
      fail();
    }
    if (!S_ISREG(status.st_mode) || !is_own(status)) {
      errno = EACCES;
      fail();
    }
  }

  PrivateFile(const PrivateFile&) = delete;
  PrivateFile& operator=(const PrivateFile&) = delete;

  ~PrivateFile() { ::close(file_); }

  /// The next bytes; empty at the end. @throws std::system_error
  std::string_view next() {
    const ssize_t size = ::read(file_, block_.data(), block_.size());
    if (size < 0) {
      throw std::system_error(errno, std::generic_category());
    }
    return {block_.data(), static_cast<std::size_t>(size)};
  }

 private:
  [[noreturn]] void fail() const {
    const std::system_error error(errno, std::generic_category());
    if (file_ >= 0) {
      ::close(file_);
    }
    throw error;
  }

  int file_;
  std::vector<char> block_ = std::vector<char>(kBlock);
};

/// Over the key and the files, so that neither can be exchanged. @throws std::system_error
std::string sum_of(const std::string& key, const fs::path& entry) {
  std::string sum = run_key(key);
  for (const char* const name : kRecordingFiles) {
    sum = run_key(sum + name);
    PrivateFile file(entry / name);
    for (std::string_view block = file.next(); !block.empty(); block = file.next()) {
      sum = run_key(sum.append(block));
    }
  }
  return sum;
}

std::string seal_of(const std::string& key, const fs::path& entry) {
  return fmt::format("{}key {}\nsum {}\n", kMark, key, sum_of(key, entry));
}

void write_seal(const fs::path& entry, std::string_view text) {
  const fs::path path = entry / kSeal;
  std::ofstream(path, std::ios::binary) << text;
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
}

/// Empty if there is none. It is shorter than a block.
std::string read_seal(const fs::path& entry) {
  try {
    return std::string(PrivateFile(entry / kSeal).next());
  } catch (const std::system_error&) {
    return "";
  }
}

/// As keys are written: 8-4-4-4-12 digits.
bool is_key(std::string_view text) {
  constexpr std::array<std::size_t, 4> kDashes{8, 13, 18, 23};
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_dash = std::ranges::find(kDashes, i) != kDashes.end();
    const bool fits =
        is_dash ? text[i] == '-' : std::isxdigit(static_cast<unsigned char>(text[i])) != 0;
    if (!fits) {
      return false;
    }
  }
  return text.size() == kKeyLetters;
}

bool is_name_of_entry(std::string_view name) {
  return is_key(name.substr(0, kKeyLetters)) &&
         (name.size() == kKeyLetters || name[kKeyLetters] == '.');
}

}  // namespace

std::string run_key(std::string_view content) {
  boost::uuids::name_generator_sha1 name(boost::uuids::ns::oid());
  return boost::uuids::to_string(name(content.data(), content.size()));
}

bool is_private_folder(const fs::path& folder) {
  struct stat status {};

  return ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && is_own(status);
}

bool is_entry(const fs::path& folder) {
  return is_name_of_entry(folder.filename().string()) && is_private_folder(folder) &&
         read_seal(folder).starts_with(kMark);
}

bool is_whole(const fs::path& entry) {
  try {
    return read_seal(entry) == seal_of(entry.filename().string(), entry);
  } catch (const std::system_error&) {
    return false;
  }
}

// Marked before anything else is there: what is left of it when the machine stops is found.
void fill_entry(const fs::path& entry, const std::string& key, const fs::path& run) {
  write_seal(entry, kMark);
  for (const char* const name : kRecordingFiles) {
    fs::copy_file(run / name, entry / name);
    fs::permissions(entry / name, fs::perms::owner_read | fs::perms::owner_write);
  }
  write_seal(entry, seal_of(key, entry));
}

// The mark goes last: what is left when the machine stops is still an entry.
void remove_entry(const fs::path& entry) {
  const int folder = ::open(entry.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) {
    return;
  }
  for (const char* const name : kRecordingFiles) {
    ::unlinkat(folder, name, 0);
  }
  ::unlinkat(folder, kSeal, 0);
  ::close(folder);
  ::rmdir(entry.c_str());
}

EntryUse use_of(const fs::path& entry) {
  std::error_code removed;
  EntryUse use{.entry = entry, .last = fs::last_write_time(entry, removed), .bytes = 0};
  for (const char* const name : kRecordingFiles) {
    const std::uintmax_t size = fs::file_size(entry / name, removed);
    use.bytes += removed ? 0 : size;
  }
  return use;
}

void note_use(const fs::path& entry) {
  ::utimensat(AT_FDCWD, entry.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

}  // namespace highwater
