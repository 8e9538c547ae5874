// Python objects that stages send each other before the first micro-batch: what is in the tensors
// that they hand on (torch/distributed/distributed_c10d.py: send_object_list, recv_object_list).
#pragma once

#include <cstdint>

#include "workloads/distributed/process_group.hpp"
#include "workloads/eager/tensor.hpp"

namespace highwater::pipelining {

/// The classes of the objects.
enum class Description : std::uint8_t {
  meta_tensor,       ///< a tuple with a tensor on meta
  forward_metadata,  ///< _StageForwardMeta of _utils.py, since 2.12
  backward_metadata  ///< _StageBackwardMeta
};

/// Bytes of an object about one tensor, as pickle's protocol 4 writes it.
std::int64_t pickled_size(Description object, const eager::Dims& sizes, DType dtype);

/// One object of so many bytes.
void receive_object(dist::ProcessGroup& from, std::int64_t bytes);
void send_object(dist::ProcessGroup& to, std::int64_t bytes);

}  // namespace highwater::pipelining
