// What a program that asks the device for its free memory is told.
//
// DeepSpeed 0.19.8, accelerator/cuda_accelerator.py, available_memory: NVML's free bytes, or
// without pynvml those of the device that no tensor holds. Both are about the same once
// empty_cache() has given back what no block uses: segments are no larger than their blocks need.
#pragma once

#include "traces/units.hpp"

namespace highwater::eager {
class Runtime;
}

namespace highwater::deepspeed {

/// Of the traced device, after empty_cache(). @pre runtime.room
Bytes free_memory(const eager::Runtime& runtime);

}  // namespace highwater::deepspeed
