// Where bytes come from: files, standard input and memory, decompressed on the way.
//
// Readers see one interface and never learn whether the file was plain, gzip, xz or zstd; the
// compression is recognised by the first bytes, never by the name.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace highwater {

class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  /// Fills the front of `buffer`, returns the number of bytes; 0 only at the end.
  /// @throws InputError when the medium or the compressed stream is damaged.
  virtual std::size_t read(std::span<std::byte> buffer) = 0;

  /// The name for messages: the path as the user gave it, or "standard input".
  [[nodiscard]] virtual const std::string& name() const = 0;
};

/// Opens `path` ("-" is standard input) and decompresses .gz, .xz and .zst content transparently.
/// @throws InputError when it does not exist, is a directory, or cannot be read.
std::unique_ptr<ByteSource> open_source(const std::filesystem::path& path);

/// Bytes in memory (not copied); no decompression.
std::unique_ptr<ByteSource> memory_source(std::span<const std::byte> bytes, std::string name);

/// All of a text file, decompressed; "-" is standard input. @throws InputError
std::string read_text_file(const std::filesystem::path& path);

}  // namespace highwater
