// Where bytes come from: files, standard input and memory, decompressed on the way.
//
// Readers see one interface and never learn whether the file was plain, gzip, xz or zstd; the
// compression is recognised by the first bytes, never by the name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

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

/// How much larger than itself a compressed file may become. Real snapshots grow 5 to 58 times; a
/// few kilobytes made to do harm grow to gigabytes.
struct ExpansionLimit {
  static constexpr std::uint64_t kUsualTimes = 250;
  static constexpr std::uint64_t kAlways = std::uint64_t{64} << 20;

  std::optional<std::uint64_t> times = kUsualTimes;  ///< absent: no limit
  std::uint64_t always = kAlways;                    ///< bytes that any file may become, and more

  [[nodiscard]] bool allows(std::uint64_t compressed, std::uint64_t decompressed) const {
    return !times || decompressed <= always || (decompressed - always) / *times <= compressed;
  }
};

/// Told how many bytes of how many were read, before decompression; the total is 0 where it is not
/// known.
using ReadListener = std::function<void(std::uint64_t done, std::uint64_t total)>;

struct SourceOptions {
  ExpansionLimit expansion;
  ReadListener listener;  ///< may be empty
};

/// Opens `path` ("-" is standard input) and decompresses .gz, .xz and .zst content transparently.
/// @throws InputError when it does not exist, is a directory, or cannot be read.
std::unique_ptr<ByteSource> open_source(const std::filesystem::path& path,
                                        const SourceOptions& options = {});

/// Bytes in memory (not copied); no decompression.
std::unique_ptr<ByteSource> memory_source(std::span<const std::byte> bytes, std::string name);

/// How large a text file may be that is read as a whole, and what to try about a larger one.
struct TextLimit {
  std::uint64_t size = std::uint64_t{256} << 20;  ///< grids, baselines and recorded cases have less
  std::string_view remedy = "check the path";
};

/// All of a text file, decompressed; "-" is standard input. @throws InputError if it cannot be read
/// or is larger
std::string read_text_file(const std::filesystem::path& path, const TextLimit& limit = {});

}  // namespace highwater
