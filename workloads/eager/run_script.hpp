// Runs the script that kernels/ gives for a kernel's blocks (kernels/scratch.hpp). Internal to
// eager/.
#pragma once

#include <algorithm>
#include <vector>

#include "workloads/eager/runtime.hpp"
#include "workloads/kernels/scratch.hpp"

namespace highwater::eager {

/// Blocks of a running script by number; those that no step has freed are alive.
using ScriptBlocks = std::vector<Ref<Storage>>;

inline void run_step(Runtime& runtime, const ScratchStep& step, ScriptBlocks& blocks) {
  const auto block = static_cast<std::size_t>(step.block);
  if (step.bytes == 0) {
    blocks[block].reset();
  } else {
    blocks.resize(std::max(blocks.size(), block + 1));
    blocks[block] = runtime.allocate(step.bytes);
  }
}

/// Runs a script of allocations and frees; returns the blocks it leaves.
inline ScriptBlocks run_script(Runtime& runtime, const ScratchScript& script) {
  ScriptBlocks blocks;
  for (const auto& step : script) {
    run_step(runtime, step, blocks);
  }
  return blocks;
}

/// A contiguous tensor on a storage that exists already.
inline Tensor tensor_on(Ref<Storage> storage, const Dims& sizes, DType dtype) {
  Ref<TensorImpl> impl(new TensorImpl);
  impl->storage = std::move(storage);
  impl->sizes = sizes;
  impl->strides = contiguous_strides(sizes);
  impl->dtype = dtype;
  return Tensor(std::move(impl));
}

}  // namespace highwater::eager
