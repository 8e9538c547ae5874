#include "tools/record/fakecuda/cudnn_library/library.hpp"

#include <array>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

namespace highwater::cudnn_library {
namespace {

// cudnn_graph.h: CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR and its JSON, since 9.8
constexpr std::size_t kWithDeviceProperties = 90800;
constexpr int kDeviceProperties = 38, kJson = 2702, kChar = 24;

std::string loading_error() {
  const char* const text = dlerror();
  return text == nullptr ? "it cannot be loaded" : text;
}

template <class Function>
bool find(void* loaded, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(loaded, name));
  return function != nullptr;
}

bool find_functions(void* loaded, Library& library) {
  return find(loaded, "cudnnGetVersion", library.version) &&
         find(loaded, "cudnnGetLastErrorString", library.last_error) &&
         find(loaded, "cudnnBackendCreateDescriptor", library.create) &&
         find(loaded, "cudnnBackendDestroyDescriptor", library.destroy) &&
         find(loaded, "cudnnBackendSetAttribute", library.set) &&
         find(loaded, "cudnnBackendGetAttribute", library.get) &&
         find(loaded, "cudnnBackendFinalize", library.finalize);
}

/// Whatever is loaded under its SONAME is what cuDNN finds: this program's driver without a device,
/// and the wheel's NVRTC, wherever cuDNN's own search path leads.
void load_driver() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  dlopen((self.parent_path() / "libcuda.so.1").c_str(), RTLD_NOW | RTLD_GLOBAL);
}

std::string load_compiler(const std::string& path) {
  void* const loaded = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  int (*version)(int*, int*) = nullptr;
  int major = 0, minor = 0;
  if (loaded == nullptr || !find(loaded, "nvrtcVersion", version) || version(&major, &minor) != 0) {
    return "";
  }
  return std::to_string(major) + "." + std::to_string(minor);
}

std::string set_gpu(Library& library, const std::string& json) {
  if (library.create(kDeviceProperties, &library.gpu) != 0 ||
      library.set(library.gpu, kJson, kChar, static_cast<std::int64_t>(json.size()), json.data()) !=
          0 ||
      library.finalize(library.gpu) != 0) {
    return "it does not take this GPU: " + last_error(library);
  }
  return "";
}

}  // namespace

std::string last_error(const Library& library) {
  std::array<char, 4096> text{};
  library.last_error(text.data(), text.size() - 1);
  return text.data();
}

Library load_library(const std::string& cudnn, const std::string& nvrtc, const std::string& gpu) {
  Library library;
  load_driver();
  library.compiler = load_compiler(nvrtc);
  void* const loaded = dlopen(cudnn.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (loaded == nullptr) {
    library.problem = loading_error();
  } else if (!find_functions(loaded, library)) {
    library.problem = "it has no graph API (cuDNN 9)";
  } else if (library.version() < kWithDeviceProperties) {
    library.problem = "it answers only where there is a GPU (cuDNN 9.8 and later do without)";
  } else {
    library.problem = set_gpu(library, gpu);
  }
  return library;
}

}  // namespace highwater::cudnn_library
