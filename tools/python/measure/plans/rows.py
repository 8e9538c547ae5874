"""The plans, each a line of `highwater simulate`; where the model has no such run, the script that says the same."""

import dataclasses

CONFIGS = {
    "gpt2": {"model_type": "gpt2", "n_layer": 4, "n_embd": 512, "n_head": 8},
    "llama": {"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 512, "intermediate_size": 1376,
              "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 32000, "max_position_embeddings": 2048},
    "qwen2": {"model_type": "qwen2", "num_hidden_layers": 4, "hidden_size": 512, "intermediate_size": 1376,
              "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 32000, "max_position_embeddings": 2048,
              "tie_word_embeddings": True},
    "mixtral": {"model_type": "mixtral", "num_hidden_layers": 2, "hidden_size": 512, "intermediate_size": 1024,
                "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 32000, "num_local_experts": 8,
                "max_position_embeddings": 2048},
    "phi3": {"model_type": "phi3", "num_hidden_layers": 4, "hidden_size": 512, "intermediate_size": 1376,
             "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 32000, "pad_token_id": 0},
}
BATCH = ["--batch", "2", "--seq", "256", "--gpu", "h100-80", "--rank", "0"]


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    model: str
    line: str
    script: str = ""    # in by_hand/; empty: the model covers the plan
    ranks: int = 1      # of the script
    packages: tuple = ()  # beside torch and transformers


BF16 = "--param-dtype bf16 --reduce-dtype fp32"
ROWS = (
    Row("DDP", "gpt2", "--dp 8"),
    Row("DDP, buckets as gradients, a static graph", "llama", "--dp 4 --bucket-view --static-graph --precision amp-bf16"),
    Row("FSDP1", "llama", f"--dp 4 --dp-kind fsdp1 {BF16}"),
    Row("FSDP1, gradients and states sharded", "qwen2", f"--dp 4 --dp-kind fsdp1 --strategy shard_grad_op {BF16}"),
    Row("FSDP1, parameters on the host", "llama", f"--dp 4 --dp-kind fsdp1 --offload params {BF16}"),
    Row("fully_shard", "llama", f"--dp 8 --dp-kind fsdp2 {BF16}"),
    Row("fully_shard, checkpointed, parameters on the host", "qwen2",
        f"--dp 4 --dp-kind fsdp2 --offload params --checkpoint full {BF16}"),
    Row("HSDP: fully_shard, 2 replicas", "llama", f"--dp 8 --dp-replicate 2 --dp-kind fsdp2 {BF16}"),
    Row("accelerate's FSDP2", "llama", "--framework accelerate-fsdp2 --dp 4", packages=("accelerate",)),
    Row("accelerate's FSDP2, 2 micro-batches, clipped", "qwen2",
        "--framework accelerate-fsdp2 --dp 4 --grad-accum 2 --grad-clip 1", packages=("accelerate",)),
    Row("tensor parallel", "llama", "--tp 2 --tp-kind dtensor --precision bf16"),
    Row("DeepSpeed ZeRO-1", "gpt2", "--framework deepspeed --dp 4 --dp-kind zero1 --precision bf16", packages=("deepspeed",)),
    Row("DeepSpeed ZeRO-2", "llama", "--framework deepspeed --dp 4 --dp-kind zero2 --precision bf16", packages=("deepspeed",)),
    Row("DeepSpeed ZeRO-3", "llama", "--framework deepspeed --dp 4 --dp-kind zero3 --precision bf16", packages=("deepspeed",)),
    Row("DeepSpeed ZeRO-2, optimizer on the host", "qwen2",
        "--framework deepspeed --dp 4 --dp-kind zero2 --offload optimizer --precision fp16", packages=("deepspeed",)),
    Row("LoRA", "qwen2", "--precision bf16 --lora 8", packages=("peft",)),
    Row("LoRA under fully_shard", "llama", "--dp 4 --dp-kind fsdp2 --param-dtype bf16 --lora 8", packages=("peft",)),
    Row("8-bit states of bitsandbytes", "llama", "--precision bf16 --optimizer adamw-8bit", packages=("bitsandbytes",)),
    Row("context parallel under fully_shard", "llama", f"--dp 2 --cp 2 --dp-kind fsdp2 {BF16}"),
    Row("context parallel, accelerate", "llama", "--framework accelerate-fsdp2 --dp 2 --cp 2", packages=("accelerate",)),
    Row("experts, each by itself", "mixtral", "--precision bf16 --experts eager"),
    Row("experts, grouped products", "mixtral", "--precision bf16 --experts grouped_mm"),
    Row("pipeline, 1F1B", "llama", "--framework torch --precision bf16 --init cpu --pp 2 --grad-accum 4", "pipeline.py", 2),
    Row("torchtitan", "llama", "--framework torchtitan --dp 8 --checkpoint full", packages=("torchtitan",)),
    Row("torchtitan, tensor parallel", "llama", "--framework torchtitan --dp 2 --tp 2 --checkpoint full",
        packages=("torchtitan",)),
    Row("compiled", "llama", "--precision bf16 --compile", "compiled.py"),
    Row("compiled, fully_shard", "llama", f"--dp 4 --dp-kind fsdp2 {BF16} --compile", "compiled_fully_shard.py", 4),
    Row("float8, compiled", "llama", "--precision bf16 --float8 --compile", "float8.py", packages=("torchao",)),
    Row("tensor parallel under fully_shard", "llama", f"--dp 2 --dp-kind fsdp2 --tp 2 --tp-kind dtensor {BF16}",
        "tensor_parallel_fully_shard.py", 4),
    Row("tensor parallel, by transformers' plan for Phi-3", "phi3", "--tp 2 --tp-kind dtensor --precision bf16",
        "tensor_parallel_phi3.py", 2),
)
