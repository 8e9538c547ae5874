#include "tools/record/fakecuda/core/entry_points.hpp"

#include <dlfcn.h>
#include <string>

namespace highwater::fakecuda {
namespace {

void* driver_library() {
  static void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  return library;
}

void* find_variant(const std::string& name, const char* suffix) {
  return driver_library() == nullptr ? nullptr : dlsym(driver_library(), (name + suffix).c_str());
}

}  // namespace

void* find_entry_point(const char* name, int cuda_version) {
  if (cuda_version >= 13000) {  // only there did the third variant become the plain name's meaning
    if (void* const third = find_variant(name, "_v3")) {
      return third;
    }
  }
  void* const second = find_variant(name, "_v2");
  return second != nullptr ? second : find_variant(name, "");
}

}  // namespace highwater::fakecuda
