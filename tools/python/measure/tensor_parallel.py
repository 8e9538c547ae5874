"""The plan of parallelize_module for a decoder: Megatron's split, with or without sequence parallelism."""

from .plain_decoder import PlainDecoder


def tensor_parallel_plan(model, sequence_parallel, loss_parallel):
    """(plan of the whole model, plan of one block) for parallelize_module."""
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput, RowwiseParallel,
                                                   SequenceParallel)

    if isinstance(model, PlainDecoder):
        names = dict(embed="tok_embeddings", norm="norm", head="output", attention="attention",
                     q="attention.wq", k="attention.wk", v="attention.wv", o="attention.wo",
                     norm1="attention_norm", norm2="ffn_norm", mlp="feed_forward",
                     gate="feed_forward.w1", up="feed_forward.w3", down="feed_forward.w2")
    else:
        names = dict(embed="model.embed_tokens", norm="model.norm", head="lm_head", attention="self_attn",
                     q="self_attn.q_proj", k="self_attn.k_proj", v="self_attn.v_proj", o="self_attn.o_proj",
                     norm1="input_layernorm", norm2="post_attention_layernorm", mlp="mlp",
                     gate="mlp.gate_proj", up="mlp.up_proj", down="mlp.down_proj")
    head_out = dict(output_layouts=Shard(-1), use_local_output=False) if loss_parallel else \
        dict(output_layouts=Replicate())
    if sequence_parallel:
        whole = {names["embed"]: RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
                 names["norm"]: SequenceParallel(),
                 names["head"]: ColwiseParallel(input_layouts=Shard(1), **head_out)}
        block = {names["norm1"]: SequenceParallel(), names["norm2"]: SequenceParallel(),
                 names["attention"]: PrepareModuleInput(input_layouts=(Shard(1), None, None),
                                                        desired_input_layouts=(Replicate(), None, None)),
                 names["mlp"]: PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
                 names["o"]: RowwiseParallel(output_layouts=Shard(1)),
                 names["down"]: RowwiseParallel(output_layouts=Shard(1))}
    else:
        whole = {names["embed"]: RowwiseParallel(input_layouts=Replicate()),
                 names["head"]: ColwiseParallel(**head_out)}
        block = {names["o"]: RowwiseParallel(), names["down"]: RowwiseParallel()}
    for key in ("q", "k", "v", "gate", "up"):
        block[names[key]] = ColwiseParallel()
    return whole, block
