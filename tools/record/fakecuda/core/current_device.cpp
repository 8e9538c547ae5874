#include "tools/record/fakecuda/core/current_device.hpp"

#include <array>
#include <atomic>

#include "tools/record/fakecuda/core/settings.hpp"

namespace highwater::fakecuda {
namespace {

thread_local int current = 0;
std::array<std::atomic<bool>, kMaxDevices> active{};

}  // namespace

int current_device() {
  return current;
}

void set_current_device(int device) {
  current = device;
  make_active(device);
}

bool device_exists(int device) {
  return device >= 0 && device < settings().devices;
}

void make_active(int device) {
  active[static_cast<std::size_t>(device)] = true;
}

bool is_active(int device) {
  return active[static_cast<std::size_t>(device)];
}

}  // namespace highwater::fakecuda
