"""The distributed wrapper of a case: DDP, FSDP1, fully_shard, DTensors, or both of the latter."""

import functools

from . import models
from .tensor_parallel import tensor_parallel_plan


def dtype_of(torch, name):
    """None stays None: no mixed precision."""
    return {None: None, "bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[name]


def wrap_ddp(torch, dist, model, device):
    from torch.nn.parallel import DistributedDataParallel
    replica = DistributedDataParallel(
        model, device_ids=[0] if device == "cuda" else None, bucket_cap_mb=dist.get("bucket_cap_mb", 25),
        gradient_as_bucket_view=dist.get("bucket_view", False), static_graph=dist.get("static_graph", False),
        find_unused_parameters=dist.get("find_unused", False))

    def reduced(_, bucket):
        future = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future

    if torch.distributed.get_backend() == "fake":
        # That group's all-reduce has no result to hand to the reducer; in place there is nothing to do.
        replica.register_comm_hook(None, reduced)
    return replica


def wrap_fsdp1(torch, dist, model, device):
    from torch.distributed.fsdp import BackwardPrefetch, FullyShardedDataParallel, MixedPrecision, ShardingStrategy
    from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
    block = type(models.blocks_of(model)[0])
    mixed = None
    if dist.get("mp"):
        computed = dtype_of(torch, dist["mp"])
        mixed = MixedPrecision(param_dtype=computed, reduce_dtype=dtype_of(torch, dist.get("reduce", "fp32")),
                               buffer_dtype=computed)
    return FullyShardedDataParallel(
        model, sharding_strategy=ShardingStrategy[dist.get("strategy", "FULL_SHARD")], mixed_precision=mixed,
        auto_wrap_policy=functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={block}),
        backward_prefetch=BackwardPrefetch.BACKWARD_PRE, limit_all_gathers=dist.get("limit_all_gathers", True),
        use_orig_params=dist.get("use_orig_params", True), forward_prefetch=dist.get("forward_prefetch", False),
        device_id=0 if device == "cuda" else torch.device("cpu"))


def split_tensors(dist, model, mesh):
    from torch.distributed.tensor.parallel import parallelize_module
    whole, block_plan = tensor_parallel_plan(model, dist.get("sequence_parallel", False),
                                             dist.get("loss_parallel", False))
    parallelize_module(model, mesh, whole)
    for block in models.blocks_of(model):
        parallelize_module(block, mesh, block_plan)


def shard_fully(torch, dist, model, mesh):
    """fully_shard of every block, then of the whole; "reshard" may be "but-last": the last block stays gathered."""
    try:
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    except ImportError:
        from torch.distributed._composable.fsdp import MixedPrecisionPolicy, fully_shard
    policy = MixedPrecisionPolicy(param_dtype=dtype_of(torch, dist.get("mp")),
                                  reduce_dtype=dtype_of(torch, dist.get("reduce")))
    reshard = dist.get("reshard", True)
    blocks = models.blocks_of(model)
    for i, block in enumerate(blocks):
        after = i < len(blocks) - 1 if reshard == "but-last" else reshard
        fully_shard(block, mesh=mesh, mp_policy=policy, reshard_after_forward=after)
    fully_shard(model, mesh=mesh, mp_policy=policy, reshard_after_forward=True if reshard == "but-last" else reshard)


def wrap_model(torch, case, model, device):
    """The module to call."""
    dist = case["dist"]
    kind = dist["kind"]
    if kind == "none":
        return model
    if kind == "ddp":
        return wrap_ddp(torch, dist, model, device)
    if kind == "fsdp1":
        return wrap_fsdp1(torch, dist, model, device)
    from torch.distributed.device_mesh import init_device_mesh
    if kind == "fsdp2+tp":
        mesh = init_device_mesh(device, (dist["dp"], dist["tp"]), mesh_dim_names=("dp", "tp"))
        split_tensors(dist, model, mesh["tp"])
        shard_fully(torch, dist, model, mesh["dp"])
        return model
    mesh = init_device_mesh(device, (dist["world"],))
    if kind == "tp":
        split_tensors(dist, model, mesh)
    elif kind == "fsdp2":
        shard_fully(torch, dist, model, mesh)
    else:
        raise ValueError(f"dist.kind '{kind}' is unknown; use none, ddp, fsdp1, fsdp2, tp, fsdp2+tp")
    return model


def refill(torch, model):
    """Initialises a model whose storage was just created by to_empty()."""
    with torch.no_grad():
        for param in model.parameters():
            local = getattr(param, "_local_tensor", param)
            if local.numel():
                local.normal_(0, 0.02) if param.dim() > 1 else local.fill_(1.0)
        for name, buffer in model.named_buffers():
            if name.endswith("inv_freq"):
                steps = torch.arange(buffer.numel(), dtype=torch.float32) / buffer.numel()
                buffer.copy_((10000.0 ** -steps).to(buffer.dtype))
