#include "tests/bench/torch_allocator.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <regex>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace highwater::bench {
namespace {

namespace fs = std::filesystem;

/// Places of methods in the virtual table of CUDAAllocator (c10/cuda/CUDACachingAllocator.h,
/// c10/core/CachingDeviceAllocator.h and c10/core/Allocator.h of that release).
struct Interface {
  std::string_view release;
  std::size_t raw_alloc;
  std::size_t raw_delete;
  std::size_t init;
};

constexpr std::array kInterfaces{
    Interface{.release = "2.15", .raw_alloc = 13, .raw_delete = 15, .init = 16},
};

const Interface* interface_of(std::string_view release) {
  const auto found = std::ranges::find_if(kInterfaces, [&](const Interface& known) {
    return release.starts_with(std::string(known.release) + ".");
  });
  return found == kInterfaces.end() ? nullptr : &*found;
}

std::string content_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string release_of(const fs::path& torch) {
  std::smatch match;
  const std::string text = content_of(torch / "version.py");
  return std::regex_search(text, match, std::regex("__version__ = '([0-9.]+)")) ? match[1].str()
                                                                                : "";
}

fs::path allocator_library(const fs::path& torch) {
  return torch / "lib" / "libc10_cuda.so";
}

/// "cuda13" if the library was linked to libcudart.so.13.
std::string cuda_of(const fs::path& torch) {
  std::smatch match;
  const std::string library = content_of(allocator_library(torch));
  const std::size_t at = library.find("libcudart.so.");
  return at == std::string::npos ? "" : "cuda" + library.substr(at + 13, 2);
}

/// The object in this process, after its libraries were loaded.
class TorchAllocator {
 public:
  TorchAllocator(const fs::path& torch, const fs::path& fake_libraries) {
    std::vector<fs::path> fakes{fs::directory_iterator(fake_libraries), {}};
    std::ranges::sort(fakes);
    for (const fs::path& fake : fakes) {
      load(fake);
    }
    void* const library = load(allocator_library(torch));
    const char* const symbol = "_ZN3c104cuda20CUDACachingAllocator9allocatorE";
    auto* const pointer = static_cast<void**>(dlsym(library, symbol));
    object_ = pointer == nullptr ? nullptr : *pointer;
    if (object_ == nullptr) {
      fail(std::string("no allocator in libc10_cuda: ") + symbol);
    }
    const Interface& places = *interface_of(release_of(torch));
    void** const methods = *static_cast<void***>(object_);
    raw_alloc_ = reinterpret_cast<void* (*)(void*, std::size_t)>(methods[places.raw_alloc]);
    raw_delete_ = reinterpret_cast<void (*)(void*, void*)>(methods[places.raw_delete]);
    constexpr int kDevices = 1;
    reinterpret_cast<void (*)(void*, int)>(methods[places.init])(object_, kDevices);
    prepare_expandable_segments(library, kDevices);
  }

  void* allocate(Bytes size) { return raw_alloc_(object_, size.count()); }

  void free(void* address) { raw_delete_(object_, address); }

 private:
  /// They ask which devices share memory, which PyTorch prepares elsewhere.
  static void prepare_expandable_segments(void* library, std::int64_t devices) {
    void* const function = dlsym(library, "_ZN3c104cuda6detail21init_p2p_access_cacheEl");
    if (function != nullptr) {
      reinterpret_cast<void (*)(std::int64_t)>(function)(devices);
    }
  }

  [[noreturn]] static void fail(const std::string& problem) {
    std::cerr << problem << '\n';
    _exit(EXIT_FAILURE);
  }

  static void* load(const fs::path& library) {
    void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (handle == nullptr) {
      fail(dlerror());
    }
    return handle;
  }

  void* object_ = nullptr;
  void* (*raw_alloc_)(void*, std::size_t) = nullptr;
  void (*raw_delete_)(void*, void*) = nullptr;
};

std::uint64_t device_memory_in_use() {
  using MemGetInfo = int (*)(std::size_t*, std::size_t*);
  const auto get = reinterpret_cast<MemGetInfo>(dlsym(RTLD_DEFAULT, "cudaMemGetInfo"));
  std::size_t free = 0;
  std::size_t total = 0;
  get(&free, &total);
  return total - free;
}

TorchMeasurement run_here(const Workload& workload, TorchAllocator allocator) {
  std::vector<void*> addresses(workload.slots);
  const auto start = std::chrono::steady_clock::now();
  for (const Operation& operation : workload.operations) {
    if (operation.kind == OperationKind::alloc) {
      addresses[operation.slot] = allocator.allocate(operation.size);
    } else {
      allocator.free(addresses[operation.slot]);
    }
  }
  const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
  return {elapsed.count() / static_cast<double>(workload.operations.size()),
          device_memory_in_use()};
}

/// As much memory as the simulated device without a limit reports.
void set_environment(const Workload& workload) {
  setenv("FAKE_CUDA_CAPACITY", "1024G", 1);
  setenv("PYTORCH_ALLOC_CONF", workload.conf.c_str(), 1);
}

}  // namespace

TorchLibrary::TorchLibrary(std::string torch, std::string fakecuda)
    : torch_(std::move(torch)), fakecuda_(std::move(fakecuda)), release_(release_of(torch_)) {
  if (!fs::exists(allocator_library(torch_))) {
    obstacle_ = torch_ + ": no lib/libc10_cuda.so; give the folder 'torch' of an installed wheel";
  } else if (interface_of(release_) == nullptr) {
    obstacle_ = torch_ + ": only the interface of 2.15 is known, not that of '" + release_ + "'";
  } else if (!fs::exists(fs::path(fakecuda_) / cuda_of(torch_))) {
    obstacle_ = fakecuda_ + ": no libraries for " + cuda_of(torch_) + "; build the target fakecuda";
  }
}

std::optional<TorchMeasurement> TorchLibrary::measure(const Workload& workload) const {
  std::array<int, 2> ends{};
  if (workload.streams > 1 || pipe(ends.data()) != 0) {
    return std::nullopt;
  }
  const pid_t child = fork();
  if (child == 0) {
    set_environment(workload);
    const TorchMeasurement measured =
        run_here(workload, TorchAllocator(torch_, fs::path(fakecuda_) / cuda_of(torch_)));
    const bool written = write(ends[1], &measured, sizeof measured) == sizeof measured;
    _exit(written ? EXIT_SUCCESS : EXIT_FAILURE);
  }
  close(ends[1]);
  TorchMeasurement measured;
  const bool was_read = read(ends[0], &measured, sizeof measured) == sizeof measured;
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return was_read ? std::optional(measured) : std::nullopt;
}

}  // namespace highwater::bench
