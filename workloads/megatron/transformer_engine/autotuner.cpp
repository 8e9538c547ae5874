#include "workloads/megatron/transformer_engine/autotuner.hpp"

#include "workloads/eager/ops.hpp"

namespace highwater::megatron {

// do_bench overwrites the buffer between launches; each variant gets its own, in the place of the
// last.
void tune(eager::Runtime& runtime, std::string_view kernel, const eager::Tensor& restored) {
  constexpr std::int64_t kCacheBytes = std::int64_t{256} * 1024 * 1024;
  eager::Tensor& known = runtime.kept(kernel);
  if (known.defined()) {
    return;
  }
  const eager::OpScope op(runtime, "get_empty_cache_for_benchmark");
  known = eager::empty(runtime, {0}, DType::uint8);  // takes no memory: a note
  const auto copy = [&] {
    const eager::Tensor made = restored.defined() ? eager::empty_like(restored) : eager::Tensor{};
  };
  copy();  // of the launch that compiles
  const eager::Tensor buffer = eager::empty(runtime, {kCacheBytes}, DType::uint8);
  copy();
}

}  // namespace highwater::megatron
