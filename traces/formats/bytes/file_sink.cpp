#include "traces/formats/bytes/file_sink.hpp"

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "traces/formats/bytes/compression.hpp"
#include "traces/formats/bytes/opened_inputs.hpp"
#include "traces/formats/bytes/output_target.hpp"
#include "traces/formats/bytes/temporary_file.hpp"

namespace highwater {
namespace {

std::error_code system_error_code(int error) {
  return {error, std::generic_category()};
}

/// What the user can do about a write that failed.
std::string_view write_remedy(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "free space there, or name a file on another disk";
    case EFBIG:
      return "raise the limit on the size of files (ulimit -f), or name a file on another disk";
    case EPIPE:
      return "the program that reads it has ended";
    default:
      return "check the disk, or name another file";
  }
}

[[noreturn]] void fail_to_write(const std::string& name, int error) {
  throw Error(fmt::format("{}: cannot be written: {}; {}", name, system_reason(error),
                          write_remedy(error)));
}

/// Whether the file system can be asked to store a file at all; pipes and some network file systems
/// cannot.
bool is_unsupported(int error) {
  return error == EINVAL || error == EROFS || error == ENOTSUP;
}

/// What becomes of what a descriptor's file holds already.
enum class OldContent { stays, goes };

/// A file descriptor, written to directly.
class DescriptorSink : public ByteSink {
 public:
  DescriptorSink(int descriptor, std::string name)
      : descriptor_(descriptor), name_(std::move(name)) {}

  ~DescriptorSink() override { close(); }

  /// Of a file that is not this sink's own: nothing happens to it before the first write.
  void respect(OutputClaim claim, OldContent old) {
    claim_ = std::move(claim);
    old_content_ = old;
  }

  void write(std::span<const std::byte> bytes) override {
    prepare();
    while (!bytes.empty()) {
      const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
      if (n >= 0) {
        bytes = bytes.subspan(static_cast<std::size_t>(n));
      } else if (errno != EINTR) {
        fail_to_write(name_, errno);
      }
    }
  }

  /// Until the medium has it: a power cut after a rename would else leave an empty file.
  void store() {
    if (::fsync(descriptor_) != 0 && !is_unsupported(errno)) {
      fail_to_write(name_, errno);
    }
  }

  void commit() override {
    prepare();
    if (close() != 0) {
      fail_to_write(name_, errno);  // network file systems report a full disk only on close
    }
  }

  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  void prepare() {
    claim_.require_unread();
    if (std::exchange(old_content_, OldContent::stays) == OldContent::goes &&
        ::ftruncate(descriptor_, 0) != 0) {
      fail_to_write(name_, errno);
    }
  }

  int close() {
    const int descriptor = std::exchange(descriptor_, -1);
    return descriptor == -1 ? 0 : ::close(descriptor);
  }

  int descriptor_;
  std::string name_;
  OutputClaim claim_;
  OldContent old_content_ = OldContent::stays;
};

/// A regular file, under a temporary name in the same folder until commit().
class FileSink : public ByteSink {
 public:
  FileSink(std::filesystem::path target, const std::string& name, OutputClaim claim)
      : target_(std::move(target)),
        claim_(std::move(claim)),
        temporary_(target_.parent_path()),
        file_(temporary_.descriptor(), name) {}

  void write(std::span<const std::byte> bytes) override { file_.write(bytes); }

  void commit() override {
    file_.store();
    file_.commit();
    claim_.require_unread();
    try {
      temporary_.rename_to(target_);
    } catch (const std::system_error& error) {
      fail_to_create(file_.name(), error.code());
    }
  }

  [[nodiscard]] const std::string& name() const override { return file_.name(); }

 private:
  std::filesystem::path target_;
  OutputClaim claim_;
  TemporaryFile temporary_;
  DescriptorSink file_;
};

/// @throws UsageError if this run has read the file of `status`
OutputClaim claim(const struct stat& status, const std::string& name, Overwrite overwrite) {
  return overwrite == Overwrite::inputs_too ? OutputClaim() : OutputClaim(status, name);
}

/// What lies there already, which may be replaced.
OutputClaim claim_replaceable(const std::filesystem::path& path, const std::string& name,
                              Overwrite overwrite) {
  struct stat status {};

  if (::stat(path.c_str(), &status) != 0) {
    return {};
  }
  if (S_ISDIR(status.st_mode)) {
    throw UsageError(name + ": is a directory; name a file inside it");
  }
  OutputClaim claimed = claim(status, name, overwrite);
  if ((status.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0) {
    // A rename would replace it despite the protection.
    throw UsageError(name + ": is write-protected; choose another name, or make it writable");
  }
  return claimed;
}

std::unique_ptr<ByteSink> replacing_sink(const std::filesystem::path& target,
                                         const std::string& name, Overwrite overwrite) {
  OutputClaim claimed = claim_replaceable(target, name, overwrite);
  try {
    return std::make_unique<FileSink>(target, name, std::move(claimed));
  } catch (const std::system_error& error) {
    fail_to_create(name, error.code());
  }
}

/// Of no kind if it cannot be told.
struct stat status_of(int descriptor) {
  struct stat status {};

  static_cast<void>(::fstat(descriptor, &status));
  return status;
}

/// `descriptor` is this process's own; what is written goes where its position stands.
std::unique_ptr<ByteSink> descriptor_sink(int descriptor, const std::string& name,
                                          Overwrite overwrite) {
  OutputClaim claimed = claim(status_of(descriptor), name, overwrite);
  const int own = ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (own < 0) {
    fail_to_create(name, system_error_code(errno));
  }
  auto sink = std::make_unique<DescriptorSink>(own, name);
  sink->respect(std::move(claimed), OldContent::stays);
  return sink;
}

/// What a name in another process's list of descriptors leads to may be a file: it is written from
/// its beginning, as one of its own name would be.
std::unique_ptr<ByteSink> special_sink(const std::filesystem::path& path, const std::string& name,
                                       Overwrite overwrite) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) {
    fail_to_create(name, system_error_code(errno));
  }
  auto sink = std::make_unique<DescriptorSink>(descriptor, name);
  const struct stat status = status_of(descriptor);
  sink->respect(claim(status, name, overwrite),
                S_ISREG(status.st_mode) ? OldContent::goes : OldContent::stays);
  return sink;
}

}  // namespace

std::unique_ptr<ByteSink> file_sink(const std::filesystem::path& name, Overwrite overwrite) {
  const OutputTarget target = output_target(name);
  switch (target.kind) {
    case OutputTarget::Kind::descriptor:
      return descriptor_sink(target.descriptor, name.string(), overwrite);
    case OutputTarget::Kind::special:
      return special_sink(target.path, name.string(), overwrite);
    case OutputTarget::Kind::file:
      break;
  }
  return replacing_sink(target.path, name.string(), overwrite);
}

std::unique_ptr<ByteSink> standard_output_sink(Overwrite overwrite) {
  return descriptor_sink(STDOUT_FILENO, kStandardOutput, overwrite);
}

}  // namespace highwater
