// cudnn_graph.h documents that CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION exists, not its keys;
// cuDNN 9.8 to 9.26 log the key that they miss (CUDNN_LOGLEVEL_DBG=1), which gave these. Each is a
// property that CUDA reports of a device.
#include "tools/record/fakecuda/cudnn/gpu_json.hpp"

#include <cstdint>

#include "tools/record/fakecuda/core/attributes.hpp"
#include "tools/record/fakecuda/core/settings.hpp"

namespace highwater::fakecuda {
namespace {

// Of the newest driver that cuDNN knows: which engines it supports must not depend on an old one.
constexpr std::int64_t kDriver = 13020;

class Object {
 public:
  void add(const char* name, const std::string& value) {
    text_ += (text_.empty() ? "{\"" : ",\"") + std::string(name) + "\":" + value;
  }

  void add(const char* name, std::int64_t value) { add(name, std::to_string(value)); }

  void add(const char* name, Attribute attribute) { add(name, device_attribute(attribute, 0)); }

  [[nodiscard]] std::string text() const { return text_ + "}"; }

 private:
  std::string text_;
};

std::string list(Attribute x, Attribute y, Attribute z) {
  return "[" + std::to_string(device_attribute(x, 0)) + "," +
         std::to_string(device_attribute(y, 0)) + "," + std::to_string(device_attribute(z, 0)) +
         "]";
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char each : text) {
    if (each == '"' || each == '\\') {
      result += '\\';
    }
    if (static_cast<unsigned char>(each) >= ' ') {
      result += each;
    }
  }
  return result + "\"";
}

void add_limits(Object& gpu) {
  gpu.add("maxGridSize",
          list(Attribute::max_grid_dim_x, Attribute::max_grid_dim_y, Attribute::max_grid_dim_z));
  gpu.add("maxBlockSize",
          list(Attribute::max_block_dim_x, Attribute::max_block_dim_y, Attribute::max_block_dim_z));
  gpu.add("maxThreadsPerBlock", Attribute::max_threads_per_block);
  gpu.add("maxThreadsPerSM", Attribute::max_threads_per_multiprocessor);
  gpu.add("maxCtasPerSM", Attribute::max_blocks_per_multiprocessor);
  gpu.add("warpSize", Attribute::warp_size);
  gpu.add("regsPerBlock", Attribute::max_registers_per_block);
  gpu.add("maxRegistersPerSM", Attribute::max_registers_per_multiprocessor);
  gpu.add("maxSharedMemoryPerBlock", Attribute::max_shared_memory_per_block);
  gpu.add("maxSharedMemoryPerBlockOptin", Attribute::max_shared_memory_per_block_optin);
  gpu.add("reservedSharedMemoryPerBlock", Attribute::reserved_shared_memory_per_block);
}

}  // namespace

std::string gpu_json() {
  const GpuProfile& profile = settings().gpu;
  Object gpu;
  gpu.add("deviceName", quoted(profile.name));
  gpu.add("deviceVer", profile.major * 100 + profile.minor * 10);
  gpu.add("multiProcessorCount", Attribute::multiprocessor_count);
  gpu.add("totalGlobalMem", static_cast<std::int64_t>(profile.memory));
  gpu.add("l2CacheSize", Attribute::l2_cache_size);
  gpu.add("smClockRateKHz", Attribute::clock_rate);
  gpu.add("memClockRateKHz", Attribute::memory_clock_rate);
  add_limits(gpu);
  gpu.add("supportCoopLaunch", Attribute::cooperative_launch);
  gpu.add("pciDeviceId", 0);
  gpu.add("isTccDriver", 0);
  gpu.add("cudaDeviceId", 0);
  gpu.add("driverVer", kDriver);
  return gpu.text();
}

}  // namespace highwater::fakecuda
