#include "tools/grid_default.hpp"

namespace highwater {
namespace {

// Families with and without dropout, tied heads, grouped queries, large vocabularies, experts and
// an encoder; then the axes that closed forms treat by rules of their own.
//
// No published measurement is among them: those of one GPU that are known leave the batch or the
// sequence out (Llama-3.2-1B in fp32: 29.2 GB, https://github.com/usamec/lowmem_finetuning) or are
// no language model's (https://huggingface.co/blog/train_memory), those that are complete need
// several GPUs. Measured truth is in the recorded cases.
constexpr std::string_view kDefaultGrid = R"({
  "grid": [
    {"model": ["gpt2", "opt-125m", "gpt-neo-125M", "llama-160m", "bloom-560m", "qwen2-0.5b",
               "mixtral-small", "t5-small"],
     "batch": [1, 4], "seq": [256, 1024], "precision": ["fp32", "amp-bf16"],
     "checkpoint": ["none", "full"], "steps": 3},
    {"model": ["gpt2", "opt-125m", "gpt-neo-125M", "llama-160m", "bloom-560m", "qwen2-0.5b",
               "mixtral-small", "llama-3-8b"],
     "batch": [1, 4], "seq": [256, 1024], "precision": "bf16", "master-weights": [false, true],
     "checkpoint": ["none", "full"], "steps": 3},
    {"model": ["bloom-560m", "qwen2-0.5b", "llama-3-8b"], "batch": [1, 4], "seq": 4096,
     "precision": "bf16", "checkpoint": ["none", "full"], "steps": 3},
    {"model": ["gpt2", "llama-160m"], "batch": [1, 4], "seq": [256, 1024],
     "attention": ["eager", "sdpa-math"], "steps": 3},
    {"model": ["gpt2", "llama-160m"], "batch": [1, 4], "seq": [256, 1024],
     "optimizer": ["sgd", "sgd-momentum", "adafactor"], "steps": 3},
    {"model": ["gpt2", "qwen2-0.5b"], "batch": [1, 4], "seq": [256, 1024],
     "precision": ["fp32", "bf16"], "lora": 8, "steps": 3}
  ]
}
)";

}  // namespace

std::string_view default_grid() {
  return kDefaultGrid;
}

}  // namespace highwater
