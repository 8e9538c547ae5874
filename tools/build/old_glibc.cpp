// For a wheel that starts where glibc is older than the builder's. Debian 12's libstdc++.a has
// std::random_device, which asks glibc 2.36 for arc4random; with this one, glibc 2.25 will do.
#include <cstdint>
#include <cstdlib>
#include <unistd.h>

extern "C" [[gnu::visibility("hidden")]] std::uint32_t arc4random() {
  std::uint32_t number = 0;
  if (getentropy(&number, sizeof number) != 0) {
    std::abort();  // as glibc's own, which cannot fail
  }
  return number;
}
