#include "tools/record/record_files.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdlib.h>
#include <string>
#include <system_error>

#include "traces/error.hpp"

namespace highwater {
namespace {

InputError cannot_write(const std::filesystem::path& path) {
  return {path.string(), "", std::string("cannot be written: ") + std::strerror(errno),
          "set TMPDIR to a folder with a few free megabytes"};
}

void write(const std::filesystem::path& path, std::string_view content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  if (!out) {
    throw cannot_write(path);
  }
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

std::filesystem::path make_folder() {
  std::string name = (temporary_folder() / "highwater-record-XXXXXX").string();
  if (name.find(':') != std::string::npos) {  // which separates the folders on PYTHONPATH
    throw InputError(name, "", "the colon in its name hides it from Python",
                     "set TMPDIR to a folder without a colon in its name");
  }
  if (mkdtemp(name.data()) == nullptr) {
    throw cannot_write(name);
  }
  return name;
}

void remove_quietly(const std::filesystem::path& folder) {
  std::error_code ignored;  // nothing depends on it any more
  std::filesystem::remove_all(folder, ignored);
}

}  // namespace

UnpackedRecordFiles::UnpackedRecordFiles() : folder_(make_folder()) {
  try {
    for (const EmbeddedFile& file : record_files()) {
      write(folder_ / file.path, file.content);
    }
  } catch (...) {
    remove_quietly(folder_);
    throw;
  }
}

UnpackedRecordFiles::~UnpackedRecordFiles() {
  remove_quietly(folder_);
}

}  // namespace highwater
