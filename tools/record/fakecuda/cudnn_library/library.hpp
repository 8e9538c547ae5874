// NVIDIA's own cuDNN, loaded into this process, and the GPU that it is asked about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace highwater::cudnn_library {

using Descriptor = void*;  ///< cudnnBackendDescriptor_t

/// The functions of cudnn_graph.h, cuDNN 9.
struct Library {
  std::size_t (*version)() = nullptr;
  void (*last_error)(char*, std::size_t) = nullptr;
  int (*create)(int, Descriptor*) = nullptr;
  int (*destroy)(Descriptor) = nullptr;
  int (*set)(Descriptor, int, int, std::int64_t, const void*) = nullptr;
  int (*get)(Descriptor, int, int, std::int64_t, std::int64_t*, void*) = nullptr;
  int (*finalize)(Descriptor) = nullptr;

  std::string compiler;  ///< release of NVRTC, with which engines for attention are compiled
  Descriptor gpu = nullptr;
  std::string problem;  ///< why it cannot be asked, or empty
};

/// Loads both files; without NVRTC (an empty path) plans that are compiled are refused by cuDNN.
/// `gpu` is the JSON of a cuDNN device property descriptor.
Library load_library(const std::string& cudnn, const std::string& nvrtc, const std::string& gpu);

/// What the library says of its last error.
std::string last_error(const Library& library);

}  // namespace highwater::cudnn_library
