#include "tools/record/fakecuda/core/settings.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "tools/record/fakecuda/core/environment.hpp"

namespace highwater::fakecuda {
namespace {

AddressOrder address_order() {
  const std::string text = environment_text("FAKE_CUDA_ADDRESS").value_or("bump");
  if (text != "bump" && text != "first-fit") {
    reject_environment("FAKE_CUDA_ADDRESS", text, "expected bump or first-fit");
  }
  return text == "bump" ? AddressOrder::bump : AddressOrder::first_fit;
}

// CUDA_VISIBLE_DEVICES: all fake devices are equal, so only the length of the list matters. An
// empty list, or one that begins with -1, hides all of them.
int visible_devices(int devices) {
  const char* const list = std::getenv("CUDA_VISIBLE_DEVICES");
  if (list == nullptr) {
    return devices;
  }
  const std::string_view text = list;
  if (text.empty() || text.starts_with("-1")) {
    return 0;
  }
  const auto commas = std::count(text.begin(), text.end(), ',');
  return std::min(devices, 1 + static_cast<int>(commas));
}

Settings read_settings() {
  Settings read;
  read.gpu = gpu_profile(environment_text("FAKE_CUDA_GPU").value_or(""));
  read.devices = visible_devices(environment_number("FAKE_CUDA_DEVICES", 1, 1, kMaxDevices));
  read.capacity = environment_size("FAKE_CUDA_CAPACITY", read.gpu.memory);
  read.context = environment_size("FAKE_CUDA_CONTEXT", 0);
  read.shared = environment_text("FAKE_CUDA_SHARED").value_or("");
  read.order = address_order();
  read.event_lag = environment_size("FAKE_CUDA_EVENT_LAG", 0);
  read.event_queries = environment_size("FAKE_CUDA_EVENT_QUERIES", 0);
  read.cudnn_workspace = environment_size("FAKE_CUDNN_WORKSPACE", 0);
  read.cudnn_library = environment_text("FAKE_CUDNN_LIBRARY").value_or("");
  read.cudnn_compiler = environment_text("FAKE_CUDNN_COMPILER").value_or("");
  read.cudnn_program = environment_text("FAKE_CUDNN_PROGRAM").value_or("");
  read.cudnn_cache = environment_text("FAKE_CUDNN_CACHE").value_or("");
  read.cudnn_is_other = environment_number("FAKE_CUDNN_OTHER", 0, 0, 1) == 1;
  read.cudnn_version = environment_number("FAKE_CUDNN_VERSION", 0, 0, 999999);
  read.nccl_version = environment_number("FAKE_NCCL_VERSION", 0, 0, 999999);
  read.log = environment_text("FAKE_CUDA_LOG").value_or("");
  read.log_kernels = environment_number("FAKE_CUDA_LOG_KERNELS", 0, 0, 1) == 1;
  return read;
}

// Never freed: libraries use it until the process ends.
const Settings*& current_settings() {
  static const Settings* read = new Settings(read_settings());
  return read;
}

}  // namespace

const Settings& settings() {
  return *current_settings();
}

void read_settings_again() {
  current_settings() = new Settings(read_settings());
}

}  // namespace highwater::fakecuda
