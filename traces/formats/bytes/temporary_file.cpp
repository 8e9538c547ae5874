#include "traces/formats/bytes/temporary_file.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

namespace highwater {
namespace {

std::system_error system_failure() {
  return {errno, std::generic_category()};
}

std::string random_digits() {
  std::array<std::uint64_t, 2> bits{};
  if (::getrandom(bits.data(), sizeof bits, 0) != sizeof bits) {
    throw system_failure();
  }
  return fmt::format("{:016x}{:016x}", bits[0], bits[1]);
}

int create(const std::string& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

}  // namespace

// Registered before it exists: a signal in between finds nothing to remove, which does no harm.
TemporaryFile::TemporaryFile(const std::filesystem::path& folder)
    : path_((folder / (".highwater-" + random_digits() + ".part")).string()),
      removed_(path_),
      descriptor_(create(path_)) {
  if (descriptor_ < 0) {
    throw system_failure();
  }
}

TemporaryFile::~TemporaryFile() {
  if (!renamed_) {
    ::unlink(path_.c_str());
  }
}

void TemporaryFile::rename_to(const std::filesystem::path& target) {
  if (::rename(path_.c_str(), target.c_str()) != 0) {
    throw system_failure();
  }
  renamed_ = true;
}

TemporaryFolder::TemporaryFolder(const std::filesystem::path& prefix)
    : path_(prefix.string() + random_digits()), removed_(path_) {
  if (::mkdir(path_.c_str(), S_IRWXU) != 0) {
    throw system_failure();
  }
}

TemporaryFolder::~TemporaryFolder() {
  if (!renamed_) {
    remove_tree(path_.c_str());
  }
}

void TemporaryFolder::rename_to(const std::filesystem::path& target) {
  if (::rename(path_.c_str(), target.c_str()) != 0) {
    throw system_failure();
  }
  renamed_ = true;
}

}  // namespace highwater
