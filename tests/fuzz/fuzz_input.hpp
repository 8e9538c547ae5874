// The bytes of a fuzz target as what its reader takes: text, words, or a file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

namespace highwater::fuzz {

/// What does not hold. Ends the program, whatever the build.
inline void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// What stands between line feeds.
inline std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    lines.emplace_back(line);
  }
  return lines;
}

/// A file without a name on any disk, used again for each input.
class MemoryBackedFile {
 public:
  MemoryBackedFile() : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    require(descriptor_ >= 0);
  }

  MemoryBackedFile(const MemoryBackedFile&) = delete;
  MemoryBackedFile& operator=(const MemoryBackedFile&) = delete;

  ~MemoryBackedFile() { ::close(descriptor_); }

  /// Its path, which opens `bytes` from now on.
  std::string holding(std::string_view bytes) {
    require(::ftruncate(descriptor_, 0) == 0);
    require(::pwrite(descriptor_, bytes.data(), bytes.size(), 0) ==
            static_cast<ssize_t>(bytes.size()));
    return fmt::format("/proc/self/fd/{}", descriptor_);
  }

 private:
  int descriptor_;
};

}  // namespace highwater::fuzz
