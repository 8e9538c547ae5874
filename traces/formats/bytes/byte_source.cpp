#include "traces/formats/bytes/byte_source.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "traces/cancellation.hpp"
#include "traces/error.hpp"
#include "traces/formats/bytes/compression.hpp"
#include "traces/formats/bytes/memory_file.hpp"
#include "traces/formats/bytes/opened_inputs.hpp"
#include "traces/formats/bytes/peeked_source.hpp"
#include "traces/program_ban.hpp"

namespace highwater {
namespace {

/// A file descriptor, read directly.
class FileSource : public ByteSource {
 public:
  FileSource(int descriptor, std::string name, ReadListener listener)
      : descriptor_(descriptor), name_(std::move(name)), listener_(std::move(listener)) {
    if (listener_) {
      find_size();
    }
  }

  ~FileSource() override {
    if (descriptor_ != STDIN_FILENO) {
      ::close(descriptor_);
    }
  }

  std::size_t read(std::span<std::byte> buffer) override {
    for (;;) {
      const ssize_t n = ::read(descriptor_, buffer.data(), buffer.size());
      if (n >= 0) {
        stop_if_cancelled();
        tell(static_cast<std::uint64_t>(n));
        return static_cast<std::size_t>(n);
      }
      if (errno != EINTR) {
        throw InputError(name_, "", "cannot be read: " + system_reason(errno),
                         "check the file and the disk");
      }
    }
  }

  [[nodiscard]] const std::string& name() const override { return name_; }

  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  void find_size() {
    struct stat status {};

    if (::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode)) {
      size_ = static_cast<std::uint64_t>(status.st_size);
    }
  }

  void tell(std::uint64_t bytes) {
    done_ += bytes;
    if (listener_) {
      listener_(size_ == 0 ? done_ : std::min(done_, size_), size_);
    }
  }

  int descriptor_;
  std::string name_;
  ReadListener listener_;
  std::uint64_t done_ = 0;
  std::uint64_t size_ = 0;  ///< 0: not known
};

class MemorySource : public ByteSource {
 public:
  MemorySource(std::span<const std::byte> bytes, std::string name)
      : rest_(bytes), name_(std::move(name)) {}

  std::size_t read(std::span<std::byte> buffer) override {
    stop_if_cancelled();
    const std::size_t n = std::min(buffer.size(), rest_.size());
    std::ranges::copy(rest_.first(n), buffer.begin());
    rest_ = rest_.subspan(n);
    return n;
  }

  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::span<const std::byte> rest_;
  std::string name_;
};

[[noreturn]] void fail_to_open(const std::string& name, int error) {
  switch (error) {
    case ENOENT:
      throw InputError(name, "", "does not exist", "check the path");
    case EACCES:
      throw InputError(name, "", "is not readable", "check its permissions");
    default:
      throw InputError(name, "", "cannot be opened: " + system_reason(error), "check the path");
  }
}

std::unique_ptr<FileSource> remembered(std::unique_ptr<FileSource> file) {
  remember_input(file->descriptor(), file->name());
  return file;
}

void reject_directory(const FileSource& file) {
  struct stat status {};

  if (::fstat(file.descriptor(), &status) == 0 && S_ISDIR(status.st_mode)) {
    throw InputError(file.name(), "", "is a directory", "name a snapshot or trace file inside it");
  }
}

/// To open a pipe or a terminal that a file names could wait for ever.
void require_regular_file(const std::string& name) {
  const std::string* const asked_by = program_ban();
  std::error_code unknown;
  const std::filesystem::file_status status = std::filesystem::status(name, unknown);
  if (asked_by != nullptr && (name == "-" || (std::filesystem::exists(status) &&
                                              !std::filesystem::is_regular_file(status) &&
                                              !std::filesystem::is_directory(status)))) {
    throw InputError(*asked_by, "", fmt::format("needs to read {}, which is not a file", name),
                     "name a file or a folder there");
  }
}

std::unique_ptr<ByteSource> open_file(const std::filesystem::path& path, ReadListener listener) {
  const std::string name = path.string();
  if (name.empty()) {
    throw InputError("", "", "the path of the input is empty",
                     "name a file, or - for standard input");
  }
  require_regular_file(name);
  const int descriptor = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    fail_to_open(name, errno);
  }
  auto file = std::make_unique<FileSource>(descriptor, name, std::move(listener));
  reject_directory(*file);
  return remembered(std::move(file));
}

std::unique_ptr<ByteSource> open_named(const std::filesystem::path& path, ReadListener listener) {
  if (const auto bytes = bytes_in_memory(path.native())) {
    return std::make_unique<MemorySource>(*bytes, path.native());
  }
  return path == "-" ? remembered(std::make_unique<FileSource>(STDIN_FILENO, "standard input",
                                                               std::move(listener)))
                     : open_file(path, std::move(listener));
}

}  // namespace

std::unique_ptr<ByteSource> open_source(const std::filesystem::path& path,
                                        const SourceOptions& options) {
  auto peeked = std::make_unique<PeekedSource>(open_named(path, options.listener));
  const Compression compression = compression_of(peeked->head());
  return decompressed(std::move(peeked), compression, options.expansion);
}

std::unique_ptr<ByteSource> memory_source(std::span<const std::byte> bytes, std::string name) {
  return std::make_unique<MemorySource>(bytes, std::move(name));
}

std::string read_text_file(const std::filesystem::path& path, const TextLimit& limit) {
  const std::unique_ptr<ByteSource> source = open_source(path);
  std::string text;
  std::array<std::byte, 65536> buffer{};
  while (const std::size_t count = source->read(buffer)) {
    text.append(reinterpret_cast<const char*>(buffer.data()), count);
    if (text.size() > limit.size) {
      throw InputError(source->name(), "", fmt::format("larger than {} MiB", limit.size >> 20U),
                       limit.remedy);
    }
  }
  return text;
}

}  // namespace highwater
