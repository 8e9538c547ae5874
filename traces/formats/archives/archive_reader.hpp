// Files inside a .tar (compressed or not) or a .zip, read one after the other without unpacking.
//
// libarchive walks the members; what a whole archive is compressed with is undone by open_source(),
// so that its limits hold, and what a member is compressed with likewise. Members of a .zip and of
// an uncompressed .tar that are passed over cost a seek, those of a compressed .tar their
// decompression.
//
// Source: libarchive 3.6, archive_read(3), archive_read_data(3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "traces/formats/bytes/byte_source.hpp"

namespace highwater {

/// .tar, .tar.gz, .tgz, .tar.xz, .txz, .tar.zst, .tzst, .zip
bool is_archive_name(const std::filesystem::path& path);

class ArchiveReader {
 public:
  /// @throws InputError when the file cannot be read or is no archive
  explicit ArchiveReader(const std::filesystem::path& path, ExpansionLimit expansion = {});
  ~ArchiveReader();
  ArchiveReader(const ArchiveReader&) = delete;
  ArchiveReader& operator=(const ArchiveReader&) = delete;

  /// Goes to the next regular file; false at the end. @throws InputError for damage behind which
  /// nothing can be found
  bool next();

  /// What next() passed over because its header is damaged, as a message; empty if nothing.
  [[nodiscard]] const std::string& damage() const;

  /// How many regular files next() has gone to: the number of the current one, from 1.
  [[nodiscard]] std::size_t position() const;

  /// Of the current file: "folder/rank0.pickle".
  [[nodiscard]] const std::string& member() const;

  /// Bytes of the current file, as the archive says; 0 where it does not.
  [[nodiscard]] std::uint64_t size() const;

  /// The current file, decompressed, to be read before next(). Its name is "ARCHIVE/MEMBER".
  [[nodiscard]] std::unique_ptr<ByteSource> content();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace highwater
