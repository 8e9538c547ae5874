// Everything the environment sets for the fake device, read once at the first call that needs it.
#pragma once

#include <cstdint>
#include <string>

#include "tools/record/fakecuda/core/gpu_profile.hpp"

namespace highwater::fakecuda {

constexpr int kMaxDevices = 8;

/// Where new addresses come from.
enum class AddressOrder {
  bump,       ///< addresses only grow
  first_fit,  ///< the lowest freed range is used again
};

struct Settings {
  GpuProfile gpu;              ///< FAKE_CUDA_GPU
  int devices = 1;             ///< FAKE_CUDA_DEVICES, those that CUDA_VISIBLE_DEVICES leaves
  std::uint64_t capacity = 0;  ///< FAKE_CUDA_CAPACITY: bytes, default: the GPU's memory
  std::uint64_t context = 0;   ///< FAKE_CUDA_CONTEXT: bytes taken before the first allocation
  std::string shared;          ///< FAKE_CUDA_SHARED: a file, empty: the device is this process's
  AddressOrder order = AddressOrder::bump;  ///< FAKE_CUDA_ADDRESS
  std::uint64_t event_lag = 0;      ///< FAKE_CUDA_EVENT_LAG: launches by which the device lags
  std::uint64_t event_queries = 0;  ///< FAKE_CUDA_EVENT_QUERIES: first queries answered "not ready"
  std::uint64_t cudnn_workspace = 0;  ///< FAKE_CUDNN_WORKSPACE: bytes of every cuDNN plan
  std::string cudnn_library;    ///< FAKE_CUDNN_LIBRARY: NVIDIA's libcudnn.so.9, which is asked
  std::string cudnn_compiler;   ///< FAKE_CUDNN_COMPILER: NVIDIA's libnvrtc.so, for it
  std::string cudnn_program;    ///< FAKE_CUDNN_PROGRAM: the program that loads both
  std::string cudnn_cache;      ///< FAKE_CUDNN_CACHE: a folder that keeps its answers
  bool cudnn_is_other = false;  ///< FAKE_CUDNN_OTHER: it is not the one PyTorch was installed with
  int cudnn_version = 0;        ///< FAKE_CUDNN_VERSION (91900); 0: the library's own choice
  int nccl_version = 0;         ///< FAKE_NCCL_VERSION (22809); 0: the library's own choice
  std::string log;              ///< FAKE_CUDA_LOG: a file, empty for none
  bool log_kernels = false;     ///< FAKE_CUDA_LOG_KERNELS
};

/// The process's settings. Ends the process if a variable cannot be parsed.
const Settings& settings();

/// Takes the variables as they are now. @pre no device has been used: only their number was asked
void read_settings_again();

}  // namespace highwater::fakecuda
