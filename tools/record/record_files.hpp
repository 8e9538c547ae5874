// The files that a recording needs and that the binary carries: the fake CUDA libraries and the
// Python package that records.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "traces/embedded_file.hpp"
#include "traces/formats/bytes/temporary_file.hpp"

namespace highwater {

/// All of them ("fakecuda/cuda12/libcudart.so.12", "python/sitecustomize.py").
std::span<const EmbeddedFile> record_files();

/// A folder with all of them, removed with the object and by a signal that ends the program; one
/// that a killed program has left is removed by the next.
class UnpackedRecordFiles {
 public:
  /// @throws InputError if no temporary folder can be written
  UnpackedRecordFiles();
  UnpackedRecordFiles(const UnpackedRecordFiles&) = delete;
  UnpackedRecordFiles& operator=(const UnpackedRecordFiles&) = delete;
  ~UnpackedRecordFiles();

  [[nodiscard]] std::filesystem::path folder() const { return folder_->path(); }

 private:
  std::unique_ptr<TemporaryFolder> folder_;
  int lock_ = -1;
};

}  // namespace highwater
