// Rules: a call stack is named by the frame that its reader wrote or knows.
#include "tools/text/site_label.hpp"

#include <catch2/catch.hpp>

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

TEST_CASE("site_label: the innermost Python frame outside of PyTorch", "[cli][site_label]") {
  CHECK(label({{"??", "c10::cuda::malloc(int)"},
               {"/opt/torch/nn/modules/linear.py", "forward", 125},
               {"/home/me/train.py", "step", 42},
               {"/home/me/train.py", "main", 7}}) == "train.py:42 step");
}

TEST_CASE("site_label: without Python, the first C++ frame that is no machinery",
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
