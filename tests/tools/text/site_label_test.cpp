// Rules: a call stack is named by the frame that its reader wrote or knows.
#include "tools/text/site_label.hpp"

#include <catch2/catch.hpp>

#include "tools/text/frame_code.hpp"

using namespace highwater;

namespace {

struct NamedFrame {
  std::string file;
  std::string function;
  std::int64_t line = 0;
};

std::string label(const std::vector<NamedFrame>& frames) {
  SideTables tables;
  std::vector<FrameId> stack;
  for (const NamedFrame& frame : frames) {
    stack.push_back(tables.stacks.intern_frame(
        {tables.strings.intern(frame.file), tables.strings.intern(frame.function), frame.line}));
  }
  return site_label(tables, tables.stacks.intern_stack(stack));
}

}  // namespace

TEST_CASE("frame code: installed packages and Python's own library are not the user's",
          "[cli][site_label]") {
  const auto [file, code] = GENERATE(table<std::string, FrameCode>({
      {"/home/me/train.py", FrameCode::user},
      {"train.py", FrameCode::user},
      {"/home/me/library/model.py", FrameCode::user},
      {"/home/python3/model.py", FrameCode::user},
      {"/tmp/ipykernel_12/345.py", FrameCode::user},
      {"<ipython-input-3-ab>", FrameCode::user},
      {"<stdin>", FrameCode::user},
      {"C:\\research\\client.py", FrameCode::user},
      {"/home/me/.venv/lib/python3.12/site-packages/einops/_backends.py", FrameCode::library},
      {"/usr/lib/python3/dist-packages/six.py", FrameCode::library},
      {"/opt/lib/python3.12/site-packages/torchvision/ops/boxes.py", FrameCode::library},
      {"/opt/lib/python3.12/site-packages/deepspeed/torch/engine.py", FrameCode::library},
      {"/opt/lib/python3.12/site-packages/torch/nn/functional.py", FrameCode::torch},
      {"/data/pytorch/torch/nn/functional.py", FrameCode::torch},
      {"C:\\me\\.venv\\lib\\site-packages\\torch\\storage.py", FrameCode::torch},
      {"/tmp/torchinductor_me/nq/cnq.py", FrameCode::torch},
      {"/usr/lib/python3.11/copy.py", FrameCode::standard},
      {"C:\\uv\\python\\cpython-3.10.19-windows\\lib\\copy.py", FrameCode::standard},
      {"C:\\Users\\me\\miniconda3\\envs\\a\\lib\\copy.py", FrameCode::standard},
      {"<frozen importlib._bootstrap>", FrameCode::standard},
      {"<eval_with_key>.7", FrameCode::standard},
      {"RegisterCUDA_0.cpp", FrameCode::native},
      {"??", FrameCode::native},
      {"", FrameCode::native},
  }));
  CAPTURE(file);
  CHECK(code_of(file) == code);
}

TEST_CASE("site_label: the user's innermost line, with the library's below it",
          "[cli][site_label]") {
  const NamedFrame linear{"/opt/site-packages/torch/nn/modules/linear.py", "forward", 125};
  const NamedFrame call{"/opt/site-packages/torch/nn/modules/module.py", "_call_impl", 1553};
  const NamedFrame einsum{"/opt/site-packages/einops/_backends.py", "einsum", 288};
  const NamedFrame step{"/home/me/train.py", "step", 42};
  const NamedFrame main{"/home/me/train.py", "main", 7};
  CHECK(label({{"??", "c10::cuda::malloc(int)"}, linear, call, step, main}) ==
        "train.py:42 step (linear.py:125 forward)");
  CHECK(label({step, main}) == "train.py:42 step");
  CHECK(label({linear, call, einsum, {"/usr/lib/python3.11/copy.py", "copy", 3}, step, main}) ==
        "train.py:42 step (_backends.py:288 einsum)");
  CHECK(label({{"C:\\uv\\cpython-3.10\\lib\\copy.py", "deepcopy", 153},
               {"C:\\me\\client.py", "pull", 185}}) == "client.py:185 pull");
}

TEST_CASE("site_label: without the user's code, the library's innermost line",
          "[cli][site_label]") {
  CHECK(label({{"/opt/site-packages/torch/functional.py", "einsum", 390},
               {"/opt/site-packages/einops/_backends.py", "einsum", 288},
               {"/opt/site-packages/einops/einops.py", "einsum", 900}}) ==
        "_backends.py:288 einsum");
  CHECK(label({{"/opt/site-packages/torch/storage.py", "clone", 257}}) == "storage.py:257 clone");
}

TEST_CASE("site_label: without Python, the backward node or the operator that was called",
          "[cli][site_label]") {
  const NamedFrame allocation{"??", "at::detail::empty_cuda(long)"};
  const NamedFrame wrapper{"RegisterCUDA_0.cpp",
                           "at::(anonymous namespace)::wrapper_CUDA_bmm(at::Tensor const&)"};
  const NamedFrame strided{"??", "at::_ops::empty_strided::call(int)"};
  const NamedFrame bmm{"??", "at::_ops::bmm::redispatch(int)"};
  const NamedFrame cast{"??", "at::_ops::_to_copy::call(int)"};
  const NamedFrame einsum{"??", "at::_ops::einsum::call(int)"};
  const NamedFrame details{
      "", "at::Tensor torch::autograd::generated::details::bmm_backward<at::Tensor>(int)"};
  const NamedFrame node{"??", "torch::autograd::generated::BmmBackward0::apply(int)"};
  const NamedFrame engine{"??", "torch::autograd::Engine::thread_main(int)"};
  CHECK(label({allocation, wrapper, bmm, details, node, engine}) == "BmmBackward0 (bmm)");
  CHECK(label({allocation, strided, cast, einsum, engine}) == "einsum (_to_copy)");
  CHECK(label({allocation, wrapper, bmm, bmm}) == "bmm");
  CHECK(label({allocation, wrapper, {"", "flash::mha_fwd(at::Tensor&)"}}) ==
        "flash::mha_fwd(at::Tensor&)");
}

TEST_CASE("site_label: without an operator, the first C++ frame that is no machinery",
          "[cli][site_label]") {
  const std::string machinery = GENERATE(
      as<std::string>(), "torch::unwind::unwind()", "torch::CapturedTraceback::gather(bool, bool)",
      " at::TensorBase at::detail::_empty_generic<long>(c10::ArrayRef<long>)",
      "  at::TensorBase at::detail::_empty_strided_generic<c10::ArrayRef<long> >(int)",
      "at::detail::empty_cuda(long)", "wrapper_CUDA_empty_cuda", "c10::Storage::Storage(int)");
  const std::string file = GENERATE("??", "");
  CAPTURE(machinery, file);
  CHECK(label({{file, machinery}, {file, " at::native::add(c10::Scalar)"}}) ==
        "at::native::add(c10::Scalar)");
}

TEST_CASE("site_label: machinery is better than nothing", "[cli][site_label]") {
  CHECK(label({{"", " c10::alloc()"}}) == "c10::alloc()");
  CHECK(site_label(SideTables(), StackId::none()) == "(no stack recorded)");
}

TEST_CASE("site_label: a label without its lines", "[cli][site_label]") {
  CHECK(without_line("train.py:42 forward") == "train.py forward");
  CHECK(without_line("train.py:42 step (linear.py:125 forward)") ==
        "train.py step (linear.py forward)");
  CHECK(without_line("mm MmBackward0 layers.*.mlp").empty());
  CHECK(without_line("at::native::foo(int) :7").empty());
  CHECK(without_line("a::b.cpp:7 c::d") == "a::b.cpp c::d");
}
