#include "traces/formats/bytes/byte_sink.hpp"

#include <cerrno>
#include <fcntl.h>
#include <ios>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <boost/iostreams/categories.hpp>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filter/lzma.hpp>
#include <boost/iostreams/filter/zstd.hpp>
#include <fmt/format.h>

#include "traces/error.hpp"
#include "traces/formats/bytes/compression.hpp"

namespace highwater {
namespace {

namespace io = boost::iostreams;

[[noreturn]] void fail_to_create(const std::string& name, int error) {
  throw UsageError(
      fmt::format("{}: cannot be created: {}; name a file in a folder that exists and "
                  "can be written to",
                  name, system_reason(error)));
}

/// A file descriptor, written to directly.
class DescriptorSink : public ByteSink {
 public:
  DescriptorSink(int descriptor, std::string name)
      : descriptor_(descriptor), name_(std::move(name)) {}

  ~DescriptorSink() override { close(); }

  void write(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
      if (n >= 0) {
        bytes = bytes.subspan(static_cast<std::size_t>(n));
      } else if (errno != EINTR) {
        fail_to_write();
      }
    }
  }

  void commit() override {
    if (close() != 0) {
      fail_to_write();  // network file systems report a full disk only on close
    }
  }

  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  int close() {
    const int descriptor = std::exchange(descriptor_, -1);
    return descriptor == -1 || descriptor == STDOUT_FILENO ? 0 : ::close(descriptor);
  }

  [[noreturn]] void fail_to_write() const {
    throw Error(fmt::format("{}: cannot be written: {}; check the free disk space", name_,
                            system_reason(errno)));
  }

  int descriptor_;
  std::string name_;
};

/// A regular file, under a temporary name until commit().
class FileSink : public ByteSink {
 public:
  explicit FileSink(const std::filesystem::path& target)
      : target_(target.string()),
        temporary_(temporary_beside(target)),
        file_(create(temporary_, target_), target_) {}

  ~FileSink() override {
    if (!committed_) {
      ::unlink(temporary_.c_str());
    }
  }

  void write(std::span<const std::byte> bytes) override { file_.write(bytes); }

  void commit() override {
    file_.commit();
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
      fail_to_create(target_, errno);
    }
    committed_ = true;
  }

  [[nodiscard]] const std::string& name() const override { return target_; }

 private:
  /// In the same folder, because rename works only within one file system.
  static std::string temporary_beside(const std::filesystem::path& target) {
    static int serial = 0;
    const std::string name =
        fmt::format(".{}.{}-{}.part", target.filename().string(), ::getpid(), serial++);
    return (target.parent_path() / name).string();
  }

  static int create(const std::string& temporary, const std::string& target) {
    const int descriptor =
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (descriptor < 0) {
      fail_to_create(target, errno);
    }
    return descriptor;
  }

  std::string target_;
  std::string temporary_;
  DescriptorSink file_;
  bool committed_ = false;
};

/// What a Boost compressor writes to.
class CompressedOutput {
 public:
  using char_type = char;
  using category = io::sink_tag;

  explicit CompressedOutput(ByteSink& sink) : sink_(&sink) {}

  std::streamsize write(const char* data, std::streamsize n) {
    sink_->write(std::as_bytes(std::span(data, static_cast<std::size_t>(n))));
    return n;
  }

 private:
  ByteSink* sink_;
};

template <class Filter>
class FilteredSink : public ByteSink {
 public:
  FilteredSink(std::unique_ptr<ByteSink> inner, Filter filter)
      : inner_(std::move(inner)), output_(*inner_), filter_(std::move(filter)) {}

  void write(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const std::streamsize n = filter_.write(output_, reinterpret_cast<const char*>(bytes.data()),
                                              static_cast<std::streamsize>(bytes.size()));
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
  }

  void commit() override {
    filter_.close(output_, std::ios_base::out);
    inner_->commit();
  }

  [[nodiscard]] const std::string& name() const override { return inner_->name(); }

 private:
  std::unique_ptr<ByteSink> inner_;
  CompressedOutput output_;
  Filter filter_;
};

template <class Filter>
std::unique_ptr<ByteSink> filtered(std::unique_ptr<ByteSink> inner, Filter filter) {
  return std::make_unique<FilteredSink<Filter>>(std::move(inner), std::move(filter));
}

std::unique_ptr<ByteSink> compressed(std::unique_ptr<ByteSink> inner, Compression compression) {
  switch (compression) {
    case Compression::gzip:
      return filtered(std::move(inner), io::gzip_compressor(io::gzip_params(), kFilterBuffer));
    case Compression::xz:
      return filtered(std::move(inner), io::lzma_compressor(io::lzma_params(), kFilterBuffer));
    case Compression::zstd:
      return filtered(std::move(inner), io::zstd_compressor(io::zstd_params(), kFilterBuffer));
    case Compression::none:
      break;
  }
  return inner;
}

/// A rename must not replace a device or a pipe.
std::unique_ptr<ByteSink> open_special(const std::string& name) {
  const int descriptor = ::open(name.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) {
    fail_to_create(name, errno);
  }
  return std::make_unique<DescriptorSink>(descriptor, name);
}

std::unique_ptr<ByteSink> create_file(const std::filesystem::path& path) {
  const std::string name = path.string();

  struct stat status {};

  const bool exists = ::stat(name.c_str(), &status) == 0;
  if (exists && (status.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0) {
    // A rename would replace it despite the protection.
    throw UsageError(name + ": is write-protected; choose another name, or make it writable");
  }
  if (!exists || S_ISREG(status.st_mode)) {
    return std::make_unique<FileSink>(path);
  }
  if (S_ISDIR(status.st_mode)) {
    throw UsageError(name + ": is a directory; name a file inside it");
  }
  return open_special(name);
}

}  // namespace

std::unique_ptr<ByteSink> open_sink(const std::filesystem::path& path) {
  if (path.empty()) {
    throw UsageError("the path of the output is empty; name a file, or - for standard output");
  }
  if (path == "-") {
    return std::make_unique<DescriptorSink>(STDOUT_FILENO, "standard output");
  }
  return compressed(create_file(path), compression_of(path));
}

}  // namespace highwater
