#include "tools/record/record_files.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <string>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>

#include "traces/error.hpp"

namespace highwater {
namespace {

constexpr const char* kPrefix = "highwater-record-";

InputError cannot_write(const std::filesystem::path& path, const std::string& reason) {
  return {path.string(), "", "cannot be written: " + reason,
          "set TMPDIR to a folder with a few free megabytes"};
}

void write(const std::filesystem::path& path, std::string_view content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  if (!out) {
    throw cannot_write(path, std::strerror(errno));
  }
  std::error_code ignored;  // one of them is a program
  std::filesystem::permissions(path, std::filesystem::perms::owner_exec,
                               std::filesystem::perm_options::add, ignored);
}

/// Absolute, since the command may change its directory.
std::filesystem::path temporary_folder() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (error) {
    throw InputError("temporary folder", "", error.message(),
                     "set TMPDIR to an existing folder with a few free megabytes");
  }
  return std::filesystem::absolute(folder);
}

/// What the folder's name begins with.
std::filesystem::path folder_prefix() {
  const std::filesystem::path prefix = temporary_folder() / kPrefix;
  if (prefix.string().find(':') !=
      std::string::npos) {  // which separates the folders on PYTHONPATH
    throw InputError(prefix.string(), "", "Python cannot use a folder with a colon in its name",
                     "set TMPDIR to a folder without a colon in its name");
  }
  return prefix;
}

/// A signal that ends the program removes it.
std::unique_ptr<TemporaryFolder> make_folder() {
  const std::filesystem::path prefix = folder_prefix();
  try {
    return std::make_unique<TemporaryFolder>(prefix);
  } catch (const std::system_error& error) {
    throw cannot_write(prefix, error.code().message());
  }
}

/// Open as long as anything that was started with the folder lives, since the descriptor is
/// inherited.
constexpr const char* kLock = "lock";

int lock(const std::filesystem::path& folder, int flags) {
  const int file = open((folder / kLock).c_str(), flags, S_IRUSR | S_IWUSR);
  if (file != -1 && flock(file, LOCK_EX | LOCK_NB) != 0) {
    close(file);
    return -1;
  }
  return file;
}

bool is_own_folder(const std::filesystem::path& path) {
  return path.filename().string().starts_with(kPrefix);
}

/// What programs that were killed have left.
void remove_abandoned(const std::filesystem::path& where) {
  std::error_code unreadable;
  for (const auto& entry : std::filesystem::directory_iterator(where, unreadable)) {
    const int abandoned = is_own_folder(entry.path()) ? lock(entry.path(), O_RDWR) : -1;
    if (abandoned != -1) {
      remove_tree(entry.path().c_str());
      close(abandoned);
    }
  }
}

}  // namespace

UnpackedRecordFiles::UnpackedRecordFiles() : folder_(make_folder()) {
  lock_ = lock(folder(), O_RDWR | O_CREAT);
  try {
    remove_abandoned(folder().parent_path());
    for (const EmbeddedFile& file : record_files()) {
      write(folder() / file.path, file.content);
    }
  } catch (...) {
    close(lock_);
    throw;
  }
}

UnpackedRecordFiles::~UnpackedRecordFiles() {
  folder_.reset();
  close(lock_);
}

}  // namespace highwater
