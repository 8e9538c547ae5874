#include "workloads/nn/save_on_cpu.hpp"

#include <utility>

#include "workloads/eager/host_copies.hpp"

namespace highwater::nn {
namespace {

/// The pair (device, packed).
class OnHost : public eager::Packed {
 public:
  explicit OnHost(eager::Tensor packed) : packed_(std::move(packed)) {}

  eager::Tensor unpack() override {
    eager::Tensor tensor = eager::to_device(packed_);
    tensor.runtime().categorize(tensor, Category::activation);
    return tensor;
  }

 private:
  eager::Tensor packed_;
};

}  // namespace

eager::Ref<eager::Packed> SaveOnCpu::pack(const eager::Tensor& tensor) {
  eager::Tensor packed = eager::empty_pinned(runtime_, tensor.sizes(), tensor.dtype());
  runtime_.categorize(packed, Category::activation);
  eager::copy_to_host(packed, tensor);
  return eager::Ref<eager::Packed>(new OnHost(std::move(packed)));
}

}  // namespace highwater::nn
