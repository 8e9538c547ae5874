// What a training script does around the model: how it makes it, when it clears gradients, where
// batches come from.
#pragma once

#include <cstdint>

namespace highwater {

/// How the model gets onto the device.
enum class ModelInit : std::uint8_t {
  device,          ///< built under `with torch.device("cuda")`
  cpu,             ///< built on the host, then .to("cuda")
  meta,            ///< built on meta, then to_empty("cuda")
  pretrained_half  ///< built in fp32 on the host, .to("cuda"), then .half() or .bfloat16()
};

enum class ZeroGradAt : std::uint8_t {
  start,     ///< before the step's first forward
  backward,  ///< between its first forward and backward
  end
};

/// How batches arrive: copied from the host, or made on the device.
enum class DataSource : std::uint8_t { to, device };

}  // namespace highwater
