#include "workloads/pipelining/object_messages.hpp"

#include <string_view>

#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::pipelining {
namespace {

using eager::Tensor;

// An integer: one byte that says how many follow, up to four of them.
std::int64_t pickled_size(std::int64_t value) {
  if (value < 256) {
    return 2;
  }
  return value < 65536 ? 3 : 5;
}

std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return "bfloat16";
    case DType::fp16:
      return "float16";
    default:
      return "float32";
  }
}

// What is left without the numbers and the type's name. A tensor on meta is
// torch/_utils.py: _rebuild_meta_tensor_no_storage; metadata are dataclasses with slots.
std::int64_t size_without_numbers(Description object) {
  switch (object) {
    case Description::meta_tensor:
      return 88;
    case Description::forward_metadata:
      return 146;
    case Description::backward_metadata:
      return 147;
  }
  return 0;
}

}  // namespace

std::int64_t pickled_size(Description object, const eager::Dims& sizes, DType dtype) {
  std::int64_t size =
      size_without_numbers(object) + static_cast<std::int64_t>(name_of(dtype).size());
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    size += pickled_size(sizes[i]) + pickled_size(stride);
    stride *= sizes[i];
  }
  return size;
}

// Its size, then its bytes, which are cut out with an offset that is a tensor.
void receive_object(dist::ProcessGroup& from, std::int64_t bytes) {
  eager::Runtime& runtime = from.runtime();
  const eager::OpScope op(runtime, "recv_object_list", 0);
  Tensor sizes = eager::empty(runtime, {1}, DType::int64);
  from.receive(sizes).wait();
  eager::sum(sizes, {}, eager::KeepDim::no);
  runtime.synchronize();
  Tensor object = eager::empty(runtime, {bytes}, DType::uint8);
  from.receive(object).wait();
  runtime.synchronize();
  eager::add(sizes, 0.0);
  Tensor offset = eager::add(sizes, 0.0);
  runtime.synchronize();
  offset.reset();
  eager::end_of_frame(sizes, object);
}

// The list of sizes is put together once more.
void send_object(dist::ProcessGroup& to, std::int64_t bytes) {
  eager::Runtime& runtime = to.runtime();
  const eager::OpScope op(runtime, "send_object_list", 0);
  Tensor object = eager::empty(runtime, {bytes}, DType::uint8);
  Tensor own_size = eager::empty(runtime, {1}, DType::int64);
  Tensor sizes = eager::empty(runtime, {1}, DType::int64);
  to.send(sizes).wait();
  to.send(object).wait();
  eager::end_of_frame(own_size, sizes, object);
}

}  // namespace highwater::pipelining
