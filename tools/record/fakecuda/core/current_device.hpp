// The device each thread works with, and the primary contexts that exist.
#pragma once

namespace highwater::fakecuda {

int current_device();
/// Also creates the device's primary context, as cudaSetDevice does since CUDA 12.
void set_current_device(int device);

/// Whether `device` is one of the devices that exist.
bool device_exists(int device);

void make_active(int device);
bool is_active(int device);

}  // namespace highwater::fakecuda
