#include "traces/formats/bytes/memory_file.hpp"

#include <functional>
#include <map>
#include <mutex>
#include <utility>

namespace highwater {
namespace {

struct MemoryFiles {
  std::mutex mutex;
  std::map<std::string, std::span<const std::byte>, std::less<>> bytes;
};

MemoryFiles& memory_files() {
  static MemoryFiles files;
  return files;
}

}  // namespace

MemoryFile::MemoryFile(std::string name, std::span<const std::byte> bytes)
    : name_(std::move(name)) {
  MemoryFiles& files = memory_files();
  const std::lock_guard lock(files.mutex);
  files.bytes.insert_or_assign(name_, bytes);
}

MemoryFile::~MemoryFile() {
  MemoryFiles& files = memory_files();
  const std::lock_guard lock(files.mutex);
  files.bytes.erase(name_);
}

std::optional<std::span<const std::byte>> bytes_in_memory(std::string_view name) {
  MemoryFiles& files = memory_files();
  const std::lock_guard lock(files.mutex);
  const auto found = files.bytes.find(name);
  return found == files.bytes.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace highwater
