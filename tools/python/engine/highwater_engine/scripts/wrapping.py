"""From a model's configuration to the module that a plain script calls: DDP, FullyShardedDataParallel, fully_shard."""
from .lines import TORCH_TYPES, indented, text
from .model_lines import adapted, built, checkpointed


def block_import(job):
    module, name = job["model"].block
    return f"from {module} import {name}"


def reshard(job):
    return "" if job["reshard"] is None else f", reshard_after_forward={job['reshard']}"


def shards_fully(job):
    block = job["model"].block[1]
    types = [f"{field}_dtype={TORCH_TYPES[job[name]]}" for field, name in (("param", "param_dtype"),
                                                                          ("reduce", "reduce_dtype"))
             if job[name] not in (None, "none")]
    policy = f"policy = MixedPrecisionPolicy({', '.join(types)})" if types else ""
    given = (", mp_policy=policy" if types else "") + reshard(job)
    return text('with torch.device("meta"):', f"    model = {built(job)}", checkpointed(job), policy,
                "for module in model.modules():", f"    if isinstance(module, {block}):",
                f"        fully_shard(module{given})", f"fully_shard(model{given})",
                'model.to_empty(device="cuda")')


def shards_flat(job):
    block = job["model"].block[1]
    mixed = ""
    if job["param_dtype"] not in (None, "none"):
        computed, reduced = TORCH_TYPES[job["param_dtype"]], TORCH_TYPES[job["reduce_dtype"]]
        mixed = (f"mixed = MixedPrecision(param_dtype={computed}, reduce_dtype={reduced}, "
                 f"buffer_dtype={computed})")
    given = (", mixed_precision=mixed" if mixed else "") + (job["strategy"] or "")
    return text(f"model = {built(job)}", checkpointed(job),
                f"wrap = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={{{block}}})", mixed,
                f"model = FullyShardedDataParallel(model, auto_wrap_policy=wrap{given}, "
                "device_id=rank, use_orig_params=True)")


def wrapping(job, device):
    """From the config to the module that is called."""
    if job["sharding"] == "fsdp2":
        return shards_fully(job)
    if job["sharding"] == "fsdp1":
        return shards_flat(job)
    replica = f"model = DistributedDataParallel(model, device_ids=[rank]{job['ddp']})" if job["sharding"] == "ddp" else ""
    if job["init"] == "device":
        made = text(f"with torch.device({device}):", f"    model = {built(job)}", adapted(job), checkpointed(job))
    else:
        made = text(f"model = {built(job)}", adapted(job), checkpointed(job), f"model.to({device})")
    return text(made, replica, "model = torch.compile(model)" if job["compile"] else "")


def imports_of_wrapping(job):
    mixed = ", MixedPrecision" if job["param_dtype"] not in (None, "none") else ""
    policy = "MixedPrecisionPolicy, " if any(job[name] not in (None, "none") for name in ("param_dtype", "reduce_dtype")) \
        else ""
    strategy = ", ShardingStrategy" if job["strategy"] and "ShardingStrategy" in job["strategy"] else ""
    return {"none": lambda: "", "ddp": lambda: "from torch.nn.parallel import DistributedDataParallel",
            "fsdp2": lambda: text(f"from torch.distributed.fsdp import {policy}fully_shard", block_import(job)),
            "fsdp1": lambda: text(f"from torch.distributed.fsdp import FullyShardedDataParallel{mixed}{strategy}",
                                  "from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy",
                                  block_import(job)),
            }[job["sharding"]]()
