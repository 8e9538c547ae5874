// Inputs that exist in memory alone, and are opened by name as files are.
//
// A program that calls the commands as functions (tools/library) holds snapshots that were never
// written.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace highwater {

/// As long as it lives, `name` opens `bytes`, which are not copied.
class MemoryFile {
 public:
  MemoryFile(std::string name, std::span<const std::byte> bytes);
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile();

  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// What `name` opens; nothing for what is not in memory.
std::optional<std::span<const std::byte>> bytes_in_memory(std::string_view name);

}  // namespace highwater
