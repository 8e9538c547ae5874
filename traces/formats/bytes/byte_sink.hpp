// Where bytes go: files and standard output, compressed on the way.
//
// A file appears complete or not at all: it is written to a temporary beside its target, which
// commit() renames into place. A sink that is destroyed without commit(), by an exception for
// instance, leaves nothing behind and an older file of that name untouched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace highwater {

class ByteSink {
 public:
  ByteSink() = default;
  ByteSink(const ByteSink&) = delete;
  ByteSink& operator=(const ByteSink&) = delete;
  virtual ~ByteSink() = default;

  /// Unbuffered: writers hand over large pieces.
  /// @throws Error if the medium accepts no more.
  virtual void write(std::span<const std::byte> bytes) = 0;

  /// Everything has been written: put the file in its place. To be called once, last.
  virtual void commit() = 0;

  /// The name for messages: the path as the user gave it, or "standard output".
  [[nodiscard]] virtual const std::string& name() const = 0;
};

/// Writes all of a short output and puts it in its place.
void write_text(ByteSink& sink, std::string_view text);

/// Which existing files an output may replace.
enum class Overwrite : std::uint8_t {
  other_files,  ///< never one that this run has read
  inputs_too    ///< a file that is read to be brought up to date
};

/// Creates `path`, compressed if it ends in .gz, .xz or .zst; "-" is standard output, uncompressed.
/// Symbolic links are followed; devices, pipes and descriptors (/dev/null, /dev/stdout) are written
/// directly. @throws UsageError if no file can be created there, if a write-protected one exists,
/// or if it is a file that this run has read.
std::unique_ptr<ByteSink> open_sink(const std::filesystem::path& path,
                                    Overwrite overwrite = Overwrite::other_files);

/// Keeps what is written in memory, for tests and measurements.
class MemorySink : public ByteSink {
 public:
  void write(std::span<const std::byte> bytes) override {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }

  void commit() override { committed_ = true; }

  [[nodiscard]] const std::string& name() const override { return name_; }

  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

  [[nodiscard]] bool is_committed() const { return committed_; }

 private:
  std::vector<std::byte> bytes_;
  std::string name_ = "memory";
  bool committed_ = false;
};

}  // namespace highwater
