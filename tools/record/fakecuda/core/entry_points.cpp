#include "tools/record/fakecuda/core/entry_points.hpp"

#include <algorithm>
#include <array>
#include <dlfcn.h>
#include <string>
#include <string_view>

namespace highwater::fakecuda {
namespace {

void* driver_library() {
  static void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  return library;
}

/// A function whose second variant has other parameters, and the first release whose programs mean
/// it by the plain name (the numbers of the types in cudaTypedefs.h of CUDA 13.0). All that are
/// missing here are older than any program that asks.
struct SecondVariant {
  std::string_view name;
  int since;
};

constexpr std::array kSecondVariants = {
    SecondVariant{"cuCtxGetDevice", 13000},
    SecondVariant{"cuCtxSynchronize", 13000},
    SecondVariant{"cuEventElapsedTime", 12080},
    SecondVariant{"cuGraphAddDependencies", 12030},
    SecondVariant{"cuGraphAddNode", 12030},
    SecondVariant{"cuGraphGetEdges", 12030},
    SecondVariant{"cuGraphNodeGetDependencies", 12030},
    SecondVariant{"cuGraphNodeGetDependentNodes", 12030},
    SecondVariant{"cuGraphRemoveDependencies", 12030},
    SecondVariant{"cuMemAdvise", 12020},
    SecondVariant{"cuMemPrefetchAsync", 12020},
    SecondVariant{"cuMemcpy3DBatchAsync", 13000},
    SecondVariant{"cuMemcpyBatchAsync", 13000},
    SecondVariant{"cuStreamGetCtx", 12050},
    SecondVariant{"cuStreamUpdateCaptureDependencies", 12030},
};

bool means_second(std::string_view name, int cuda_version) {
  const auto found = std::ranges::find(kSecondVariants, name, &SecondVariant::name);
  return found == kSecondVariants.end() || cuda_version >= found->since;
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
  void* const second = means_second(name, cuda_version) ? find_variant(name, "_v2") : nullptr;
  return second != nullptr ? second : find_variant(name, "");
}

}  // namespace highwater::fakecuda
