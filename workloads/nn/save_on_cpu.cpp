#include "workloads/nn/save_on_cpu.hpp"

#include <utility>

#include "workloads/eager/host_copies.hpp"

namespace highwater::nn {
namespace {

/// The pair (device, packed). The unpacked tensor takes the saved variable's place in the graph
/// (saved_variable.cpp: unpack), so operators see that it requires gradients.
class OnHost : public eager::Packed {
 public:
  OnHost(eager::Tensor packed, bool requires_grad)
      : packed_(std::move(packed)), requires_grad_(requires_grad) {}

  eager::Tensor unpack() override {
    eager::Tensor tensor = eager::to_device(packed_);
    tensor->requires_grad = requires_grad_;
    tensor.runtime().categorize(tensor, Category::activation);
    return tensor;
  }

 private:
  eager::Tensor packed_;
  bool requires_grad_;
};

}  // namespace

eager::Ref<eager::Packed> SaveOnCpu::pack(const eager::Tensor& tensor) {
  eager::Tensor packed = eager::empty_pinned(runtime_, tensor.sizes(), tensor.dtype());
  runtime_.categorize(packed, Category::activation);
  eager::copy_to_host(packed, tensor);
  return eager::Ref<eager::Packed>(new OnHost(std::move(packed), tensor.requires_grad()));
}

}  // namespace highwater::nn
