// A library to be loaded in front of the C library (LD_PRELOAD): one call of a system function
// fails.
//
//   HIGHWATER_FAIL_CALL=read      which: read, open, write, fsync or rename
//   HIGHWATER_FAIL_AT=3           the third of them; 0: none
//   HIGHWATER_FAIL_ERRNO=5        how
//   HIGHWATER_CALLS=FILE          at the end, how many there were of that function
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>

#define IN_FRONT_OF_THE_SYSTEM extern "C" __attribute__((visibility("default")))

namespace {

std::atomic<long> calls = 0;

long number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? 0 : std::atol(text);
}

/// Counts a call of `name`, and says whether it is the one that fails.
bool fails(std::string_view name) {
  const char* const wanted = std::getenv("HIGHWATER_FAIL_CALL");
  if (wanted == nullptr || name != wanted || ++calls != number_in("HIGHWATER_FAIL_AT")) {
    return false;
  }
  errno = static_cast<int>(number_in("HIGHWATER_FAIL_ERRNO"));
  return true;
}

int open_file(int folder, const char* path, int flags, mode_t mode) {
  return fails("open") ? -1 : static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode));
}

mode_t mode_in(int flags, std::va_list& rest) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
}

/// By the system itself: these calls are not counted.
struct Report {
  ~Report() {
    const char* const path = std::getenv("HIGHWATER_CALLS");
    const long file =
        path == nullptr ? -1
                        : ::syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file >= 0) {
      char text[32];
      const int length = std::snprintf(text, sizeof text, "%ld", calls.load());
      static_cast<void>(::syscall(SYS_write, file, text, length));
      ::syscall(SYS_close, file);
    }
  }
} report;

}  // namespace

IN_FRONT_OF_THE_SYSTEM ssize_t read(int file, void* bytes, std::size_t size) {
  return fails("read") ? -1 : ::syscall(SYS_read, file, bytes, size);
}

IN_FRONT_OF_THE_SYSTEM ssize_t pread(int file, void* bytes, std::size_t size, off_t offset) {
  return fails("read") ? -1 : ::syscall(SYS_pread64, file, bytes, size, offset);
}

IN_FRONT_OF_THE_SYSTEM ssize_t pread64(int file, void* bytes, std::size_t size, off_t offset) {
  return fails("read") ? -1 : ::syscall(SYS_pread64, file, bytes, size, offset);
}

IN_FRONT_OF_THE_SYSTEM ssize_t write(int file, const void* bytes, std::size_t size) {
  return fails("write") ? -1 : ::syscall(SYS_write, file, bytes, size);
}

IN_FRONT_OF_THE_SYSTEM int fsync(int file) {
  return fails("fsync") ? -1 : static_cast<int>(::syscall(SYS_fsync, file));
}

IN_FRONT_OF_THE_SYSTEM int rename(const char* from, const char* to) noexcept {
  return fails("rename") ? -1 : static_cast<int>(::syscall(SYS_rename, from, to));
}

IN_FRONT_OF_THE_SYSTEM int open(const char* path, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_in(flags, rest);
  va_end(rest);
  return open_file(AT_FDCWD, path, flags, mode);
}

IN_FRONT_OF_THE_SYSTEM int open64(const char* path, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_in(flags, rest);
  va_end(rest);
  return open_file(AT_FDCWD, path, flags, mode);
}
