// Lets what the wheel ships start under glibc 2.28 (manylinux_2_28: RHEL 8, Debian 10, Ubuntu 20.04
// and all that is newer), though it is built beside a newer one. A linker takes the newest version
// of a name that the builder's glibc has, and dynamic loaders without that version refuse the file.
// So each such name is defined here, hidden, for this project's code and for all archives that are
// linked in:
//
//  - what glibc 2.28 has under an older version jumps to that version (every glibc since keeps it);
//  - what it lacks is written with what it has.
//
// It is an object of each program and library (highwater_shipped() in libraries.cmake): in an
// archive, the compiler's own libraries, which are linked last, would still find glibc's. Parts
// that nothing refers to are left out by the linker. tools/python/checks/check_wheel.py finds names
// that are missing here.
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#define HIGHWATER_VERSION_OF(x86) "GLIBC_" x86
#define HIGHWATER_JUMP(name) "jmp *" name "@GOTPCREL(%rip)\n"
#elif defined(__aarch64__)
#define HIGHWATER_VERSION_OF(x86) "GLIBC_2.17"  // the first on this processor
#define HIGHWATER_JUMP(name) "adrp x16, :got:" name "\nldr x16, [x16, :got_lo12:" name "]\nbr x16\n"
#else
#error "which versions had glibc 2.28 on this processor? (abilist files in sysdeps of its sources)"
#endif

// `name` is `name` of glibc's version `x86`. A jump, for which no signature needs to be written
// out, and in which dlopen and dlsym see who called them.
#define HIGHWATER_OLD(name, x86) \
  asm(".pushsection .text.old_glibc." #name ",\"ax\"\n"                        \
      ".symver old_" #name ", " #name "@" HIGHWATER_VERSION_OF(x86) "\n"       \
      ".globl " #name "\n"                                                     \
      ".hidden " #name "\n"                                                    \
      ".type " #name ", %function\n"                                           \
      #name ":\n" HIGHWATER_JUMP("old_" #name)                                 \
      ".size " #name ", .-" #name "\n"                                         \
      ".popsection")

// glibc 2.34 moved them from libpthread and libdl into libc, under a new version. They are found in
// any loaded library; highwater_shipped() has those two loaded.
HIGHWATER_OLD(dlclose, "2.2.5");
HIGHWATER_OLD(dlerror, "2.2.5");
HIGHWATER_OLD(dlopen, "2.2.5");
HIGHWATER_OLD(dlsym, "2.2.5");
HIGHWATER_OLD(pthread_condattr_setclock, "2.3.3");
HIGHWATER_OLD(pthread_create, "2.2.5");
HIGHWATER_OLD(pthread_detach, "2.2.5");
HIGHWATER_OLD(pthread_join, "2.2.5");
HIGHWATER_OLD(pthread_key_create, "2.2.5");
HIGHWATER_OLD(pthread_mutex_trylock, "2.2.5");
HIGHWATER_OLD(pthread_mutexattr_destroy, "2.2.5");
HIGHWATER_OLD(pthread_mutexattr_init, "2.2.5");
HIGHWATER_OLD(pthread_mutexattr_settype, "2.2.5");
HIGHWATER_OLD(pthread_once, "2.2.5");
HIGHWATER_OLD(pthread_setspecific, "2.2.5");
HIGHWATER_OLD(pthread_sigmask, "2.2.5");  // from 2.32 on

// glibc 2.29 gave them a version without the wrapper for _LIB_VERSION; the values are the same.
HIGHWATER_OLD(exp, "2.2.5");
HIGHWATER_OLD(log, "2.2.5");
HIGHWATER_OLD(pow, "2.2.5");

// glibc 2.33 has stat and its kin as functions; before, headers made calls of these, whose first
// argument is the layout of struct stat (_STAT_VER in bits/stat.h).
extern "C" {
int __xstat64(int layout, const char* path, struct stat64* status) noexcept;
int __lxstat64(int layout, const char* path, struct stat64* status) noexcept;
int __fxstat64(int layout, int file, struct stat64* status) noexcept;
int __fxstatat64(int layout, int folder, const char* path, struct stat64* status,
                 int flags) noexcept;
}

namespace {

#if defined(__x86_64__)
constexpr int kStatLayout = 1;
#else
constexpr int kStatLayout = 0;
#endif

// struct stat and stat64 are one on processors of 64 bits.
static_assert(sizeof(struct stat) == sizeof(struct stat64));

struct stat64* as_stat64(struct stat* status) noexcept {
  return reinterpret_cast<struct stat64*>(status);
}

}  // namespace

#define HIGHWATER_HIDDEN extern "C" [[gnu::visibility("hidden")]]

HIGHWATER_HIDDEN int stat64(const char* path, struct stat64* status) noexcept {
  return __xstat64(kStatLayout, path, status);
}

HIGHWATER_HIDDEN int lstat64(const char* path, struct stat64* status) noexcept {
  return __lxstat64(kStatLayout, path, status);
}

HIGHWATER_HIDDEN int fstat64(int file, struct stat64* status) noexcept {
  return __fxstat64(kStatLayout, file, status);
}

HIGHWATER_HIDDEN int fstatat64(int folder, const char* path, struct stat64* status,
                               int flags) noexcept {
  return __fxstatat64(kStatLayout, folder, path, status, flags);
}

HIGHWATER_HIDDEN int stat(const char* path, struct stat* status) noexcept {
  return stat64(path, as_stat64(status));
}

HIGHWATER_HIDDEN int lstat(const char* path, struct stat* status) noexcept {
  return lstat64(path, as_stat64(status));
}

HIGHWATER_HIDDEN int fstat(int file, struct stat* status) noexcept {
  return fstat64(file, as_stat64(status));
}

HIGHWATER_HIDDEN int fstatat(int folder, const char* path, struct stat* status,
                             int flags) noexcept {
  return fstatat64(folder, path, as_stat64(status), flags);
}

// glibc 2.30 has it for std::condition_variable's waits by the steady clock. Before, libstdc++
// waited until the same moment of the clock on the wall, and so does this: whoever waits looks
// again when it wakes, and sleeps too long only if that clock is set back meanwhile.
HIGHWATER_HIDDEN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                            clockid_t clock, const timespec* until) {
  constexpr long kNanoseconds = 1'000'000'000;
  timespec now{};
  timespec wall{};
  if (clock_gettime(clock, &now) != 0 || clock_gettime(CLOCK_REALTIME, &wall) != 0) {
    return EINVAL;
  }
  wall.tv_sec += until->tv_sec - now.tv_sec;
  wall.tv_nsec += until->tv_nsec - now.tv_nsec;
  const long carry = wall.tv_nsec < 0 ? -1 : wall.tv_nsec >= kNanoseconds ? 1 : 0;
  wall.tv_sec += carry;
  wall.tv_nsec -= carry * kNanoseconds;
  return pthread_cond_timedwait(condition, mutex, &wall);
}

// glibc 2.32 has it for std::shared_ptr and its kin, which count without atomic instructions while
// it is not 0. That other threads may exist is always right, and in a module nobody would say when
// they do. Debian's libyaml-cpp.a, compiled for programs, reads it as if it were its own, which a
// shared library needs as well.
extern "C" {
extern char __libc_single_threaded __attribute__((visibility("hidden")));
char __libc_single_threaded = 0;
}

// Debian 12's libstdc++.a has std::random_device, which asks glibc 2.36 for it.
HIGHWATER_HIDDEN std::uint32_t arc4random() noexcept {
  std::uint32_t number = 0;
  if (getentropy(&number, sizeof number) != 0) {
    std::abort();  // as glibc's own, which cannot fail
  }
  return number;
}
