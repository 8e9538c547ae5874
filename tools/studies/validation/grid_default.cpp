#include "tools/studies/validation/grid_default.hpp"

namespace highwater {
namespace {

// Families with and without dropout, tied heads, grouped queries, large vocabularies, experts and
// an encoder; then the axes for which closed forms have special rules. Loop and releases are those
// of the recordings, so that the figures of the documents stay comparable.
//
// The measured cases are LLMem's Table 2: one V100, what nvidia-smi showed. Batches are not printed
// but follow from its columns (LLMem's own estimate with one m_base for all rows); the chunks of
// Colossal-AI, in which gradients share the parameters' memory, are not simulated: a plain run with
// fp32 copies stands for them. Other published figures of one GPU leave the batch or the sequence
// out (Llama-3.2-1B in fp32: 29.2 GB, https://github.com/usamec/lowmem_finetuning) or are no
// language model's (https://huggingface.co/blog/train_memory).
constexpr std::string_view kDefaultGrid = R"({
  "grid": [
    {"model": ["gpt2", "opt-125m", "gpt-neo-125M", "llama-160m", "bloom-560m", "qwen2-0.5b",
               "mixtral-small", "t5-small"],
     "batch": [1, 4], "seq": [256, 1024], "precision": ["fp32", "amp-bf16"],
     "checkpoint": ["none", "full"], "steps": 3,
     "framework": "torch", "torch": "2.6", "transformers": "5.12"},
    {"model": ["gpt2", "opt-125m", "gpt-neo-125M", "llama-160m", "bloom-560m", "qwen2-0.5b",
               "mixtral-small", "llama-3-8b"],
     "batch": [1, 4], "seq": [256, 1024], "precision": "bf16", "master-weights": [false, true],
     "checkpoint": ["none", "full"], "steps": 3,
     "framework": "torch", "torch": "2.6", "transformers": "5.12"},
    {"model": ["bloom-560m", "qwen2-0.5b", "llama-3-8b"], "batch": [1, 4], "seq": 4096,
     "precision": "bf16", "checkpoint": ["none", "full"], "steps": 3,
     "framework": "torch", "torch": "2.6", "transformers": "5.12"},
    {"model": ["gpt2", "llama-160m"], "batch": [1, 4], "seq": [256, 1024],
     "attention": ["eager", "sdpa-math"], "steps": 3,
     "framework": "torch", "torch": "2.6", "transformers": "5.12"},
    {"model": ["gpt2", "llama-160m"], "batch": [1, 4], "seq": [256, 1024],
     "optimizer": ["sgd", "sgd-momentum", "adafactor"], "steps": 3,
     "framework": "torch", "torch": "2.6", "transformers": "5.12"},
    {"model": ["gpt2", "qwen2-0.5b"], "batch": [1, 4], "seq": [256, 1024],
     "precision": ["fp32", "bf16"], "lora": 8, "steps": 3,
     "framework": "torch", "torch": "2.6", "transformers": "5.12"}
  ],
  "cases": [
    {"model": "opt-125m", "batch": 85, "seq": 512, "precision": "fp16",
     "master-weights": true, "checkpoint": "full", "checkpoint-impl": "reentrant",
     "attention": "eager", "optimizer": "adam", "init": "pretrained-half", "gpu": "v100-16",
     "framework": "torch", "torch": "2.0", "transformers": "4.29", "steps": 3,
     "measured": {"process_bytes": 17173577728, "source": "LLMem (arXiv 2404.10933), Table 2"}},
    {"model": "opt-350m", "batch": 60, "seq": 512, "precision": "fp16",
     "master-weights": true, "checkpoint": "full", "checkpoint-impl": "reentrant",
     "attention": "eager", "optimizer": "adam", "init": "pretrained-half", "gpu": "v100-16",
     "framework": "torch", "torch": "2.0", "transformers": "4.29", "steps": 3,
     "measured": {"process_bytes": 17054040064, "source": "LLMem (arXiv 2404.10933), Table 2"}},
    {"model": "bloom-560m", "batch": 10, "seq": 512, "precision": "fp16",
     "master-weights": true, "checkpoint": "full", "checkpoint-impl": "reentrant",
     "attention": "eager", "optimizer": "adam", "init": "pretrained-half", "gpu": "v100-16",
     "framework": "torch", "torch": "2.0", "transformers": "4.29", "steps": 3,
     "measured": {"process_bytes": 17116954624, "source": "LLMem (arXiv 2404.10933), Table 2"}},
    {"model": "codegen-350M", "batch": 34, "seq": 512, "precision": "fp16",
     "master-weights": true, "checkpoint": "full", "checkpoint-impl": "reentrant",
     "attention": "eager", "optimizer": "adam", "init": "pretrained-half", "gpu": "v100-16",
     "framework": "torch", "torch": "2.0", "transformers": "4.29", "steps": 3,
     "measured": {"process_bytes": 16882073600, "source": "LLMem (arXiv 2404.10933), Table 2"}}
  ]
}
)";

}  // namespace

std::string_view default_grid() {
  return kDefaultGrid;
}

}  // namespace highwater
