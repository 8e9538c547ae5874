// Debian's libyaml-cpp.a is compiled for programs: it reads glibc's __libc_single_threaded
// (sys/single_threaded.h, glibc 2.32) as if it were its own, which a shared library must not. This
// one is the module's own, and says that there may be other threads, which is always right.
extern "C" {
extern __attribute__((visibility("hidden"))) char __libc_single_threaded;
char __libc_single_threaded = 0;
}
