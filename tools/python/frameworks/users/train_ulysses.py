"""DeepSpeed's Ulysses around a transformers model: each rank has a part of every sequence, attention a part of the heads.

  highwater record --gpu h100-80 --world 4 --rank 0 --steps 3 -- torchrun --nproc-per-node 4 train_ulysses.py config.json sp=2 stage=3 batch=1 seq=1024

UlyssesSPAttentionHF replaces the attention function "sdpa"; with attention=distributed the function is
deepspeed.sequence.layer.DistributedAttention around it, [b, s, heads, d] as Megatron-DeepSpeed calls it. The engine's ZeRO
shares states over all ranks. The loss is the model's own, of this rank's tokens. Further words: dtype=bfloat16, steps=3, stage=1|2|3, checkpoint=1, and members of
"zero_optimization" such as zero.reduce_bucket_size=1000000 and zero.reduce_scatter=false.
"""
import json
import os
import sys
import tempfile
from pathlib import Path

import torch


def fake_nvcc():
    """Importing deepspeed runs $CUDA_HOME/bin/nvcc -V; it allocates nothing."""
    home = Path(tempfile.mkdtemp())
    (home / "bin").mkdir()
    compiler = home / "bin" / "nvcc"
    compiler.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 12.4, V12.4.131'\n")
    compiler.chmod(0o755)
    os.environ["CUDA_HOME"] = str(home)


def own_part(tensor, rank, ranks):
    return tensor.chunk(ranks, dim=1)[rank].contiguous()


def zero_of(args):
    zero = {"stage": int(args.get("stage", 3))}
    for word, value in args.items():
        if word.startswith("zero."):
            zero[word.removeprefix("zero.")] = json.loads(value)
    return zero


def around_sdpa(model, ranks):
    """DistributedAttention as the model's attention function; returns the groups for the engine."""
    import deepspeed.runtime.sequence_parallel.parallel_state_sp as mpu
    from deepspeed.sequence.layer import DistributedAttention
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    class Local(torch.nn.Module):
        def forward(self, query, key, value, module, **settings):
            in_front = (states.transpose(1, 2) for states in (query, key, value))
            return sdpa_attention_forward(module, *in_front, None, **settings)[0]

    mpu.initialize_sequence_parallel(sequence_parallel_size=ranks)
    attention = DistributedAttention(Local(), mpu.get_sequence_parallel_group(), scatter_idx=2, gather_idx=1)

    def distributed(module, query, key, value, attention_mask, **settings):
        query, key, value = (states.transpose(1, 2) for states in (query, key, value))
        return attention(query, key, value, 0, None, module, **settings), None

    ALL_ATTENTION_FUNCTIONS.register("distributed", distributed)
    model.set_attn_implementation("distributed")
    return mpu


def around_transformers(model, args, ranks):
    from deepspeed.runtime.sequence_parallel.ulysses_sp import UlyssesSPAttentionHF
    return UlyssesSPAttentionHF.register_with_transformers(
        model, core_attn_implementation="sdpa", sequence_parallel_size=ranks, micro_batch_size=int(args["batch"]),
        seq_length=int(args["seq"]), seq_length_is_variable=False)


def main():
    if "CUDA_HOME" not in os.environ:
        fake_nvcc()
    import deepspeed
    from transformers import AutoConfig, AutoModelForCausalLM

    args = dict(word.split("=") for word in sys.argv[2:])
    batch_size, length, ranks = int(args["batch"]), int(args["seq"]), int(args["sp"])
    dtype = args.get("dtype", "bfloat16")
    deepspeed.init_distributed("nccl")
    config = AutoConfig.from_pretrained(sys.argv[1])
    model = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa", dtype=getattr(torch, dtype))
    is_layer = args.get("attention") == "distributed"
    mpu = around_sdpa(model, ranks) if is_layer else around_transformers(model, args, ranks)
    settings = {"train_micro_batch_size_per_gpu": batch_size, "zero_allow_untested_optimizer": True,
                "zero_optimization": zero_of(args), "steps_per_print": None}
    if dtype == "bfloat16":
        settings["bf16"] = {"enabled": True}
    if args.get("checkpoint") == "1":
        model.config.use_cache = False
        model.gradient_checkpointing_enable()
        model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=settings, mpu=mpu)
    rank = mpu.get_sequence_parallel_rank()
    tokens = torch.zeros(batch_size, length, dtype=torch.long)
    places = torch.arange(length).unsqueeze(0).expand(batch_size, length)
    batch = dict(input_ids=own_part(tokens, rank, ranks), labels=own_part(tokens, rank, ranks),
                 position_ids=own_part(places, rank, ranks))
    for batch in [batch] * int(args.get("steps", 3)):
        batch = {name: value.to("cuda") for name, value in batch.items()}
        outputs = engine(**batch, shift_labels=batch["labels"])
        loss = outputs.loss
        engine.backward(loss)
        engine.step()


if __name__ == "__main__":
    main()
