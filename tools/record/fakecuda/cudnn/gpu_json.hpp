// The fake GPU as cuDNN wants it described: the JSON of a device property descriptor.
#pragma once

#include <string>

namespace highwater::fakecuda {

std::string gpu_json();

}  // namespace highwater::fakecuda
