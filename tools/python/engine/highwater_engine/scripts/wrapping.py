"""From a model's configuration to the module that a plain script calls: DDP, FullyShardedDataParallel, fully_shard,
parallelize_module, and both of the latter."""
from .lines import TORCH_TYPES, indented, text
from .model_lines import adapted, built, checkpointed, in_float8
from .tensor_parallel import imports_of_splitting, split


def block_import(job):
    module, name = job["model"].block
    return f"from {module} import {name}"


def dtype(job, name):
    """None: no mixed precision."""
    return TORCH_TYPES.get(job[name])


def on_device(job, device):
    """The model on its GPU."""
    if job["init"] == "device":
        return text(f"with torch.device({device}):", f"    model = {built(job)}", adapted(job), in_float8(job),
                    checkpointed(job))
    return text(f"model = {built(job)}", adapted(job), in_float8(job), checkpointed(job), f"model.to({device})")


def compiled(job):
    return "model = torch.compile(model)" if job["compile"] else ""


# ------------------------------------------------------------------------------------------ one GPU, DDP, DTensors

def wraps_nothing(job, device):
    return text(on_device(job, device), compiled(job))


def replicates(job, device):
    return text(on_device(job, device), f"model = DistributedDataParallel(model, device_ids=[rank]{job['ddp']})",
                compiled(job))


def splits(job, device):
    return text(on_device(job, device), f'mesh = init_device_mesh("cuda", ({job["tensor_ranks"]},))', split(job, "mesh"),
                compiled(job))


# ------------------------------------------------------------------------------------------ fully_shard

def meshes(job):
    """(the line that makes the mesh, its part for parallelize_module, its part for fully_shard)"""
    ranks, parts = job["ranks"], job["tensor_ranks"]
    if parts > 1:
        return (f'mesh = init_device_mesh("cuda", ({ranks // parts}, {parts}), mesh_dim_names=("dp", "tp"))',
                'mesh["tp"]', 'mesh["dp"]')
    if job["replicas"] > 1:
        return (f'mesh = init_device_mesh("cuda", ({job["replicas"]}, {ranks // job["replicas"]}), '
                'mesh_dim_names=("replicate", "shard"))', None, "mesh")
    return "", None, None


def policy(job):
    types = [f"{field}={dtype(job, name)}" for field, name in (("param_dtype", "param_dtype"),
                                                               ("reduce_dtype", "reduce_dtype")) if dtype(job, name)]
    return f"policy = MixedPrecisionPolicy({', '.join(types)})" if types else ""


def sharding_arguments(job, mesh):
    return "".join((f", mesh={mesh}" if mesh else "", ", mp_policy=policy" if policy(job) else "",
                    ", offload_policy=CPUOffloadPolicy()" if job["offloads_parameters"] else "",
                    "" if job["reshard"] is None else f", reshard_after_forward={job['reshard']}"))


def filled(job):
    """What was made on meta gets memory."""
    if not job["offloads_parameters"]:
        return 'model.to_empty(device="cuda")'
    return text('model.to_empty(device="cpu")', "for buffer in model.buffers():",
                '    buffer.data = buffer.data.to("cuda")')


def shards_fully(job, device):
    mesh, tensor_mesh, data_mesh = meshes(job)
    given = sharding_arguments(job, data_mesh)
    return text(mesh, 'with torch.device("meta"):', f"    model = {built(job)}", indented(adapted(job)),
                in_float8(job), checkpointed(job), split(job, tensor_mesh) if tensor_mesh else "", policy(job),
                "for module in model.modules():", f"    if isinstance(module, {job['model'].block[1]}):",
                "        module.compile()" if job["compile"] else "", f"        fully_shard(module{given})",
                f"fully_shard(model{given})", filled(job))


# ------------------------------------------------------------------------------------------ FullyShardedDataParallel

def mixed_flat(job):
    computed = dtype(job, "param_dtype")
    return (f"mixed = MixedPrecision(param_dtype={computed}, reduce_dtype={dtype(job, 'reduce_dtype')}, "
            f"buffer_dtype={computed})") if computed else ""


def shards_flat(job, device):
    mesh = (f'mesh = init_device_mesh("cuda", ({job["replicas"]}, {job["ranks"] // job["replicas"]}))'
            if job["replicas"] > 1 else "")
    given = "".join((", mixed_precision=mixed" if mixed_flat(job) else "", ", device_mesh=mesh" if mesh else "",
                     ", cpu_offload=CPUOffload(offload_params=True)" if job["offloads_parameters"] else "",
                     job["strategy"] or ""))
    return text(f"model = {built(job)}", adapted(job), in_float8(job), checkpointed(job),
                f"wrap = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={{{job['model'].block[1]}}})",
                mesh, mixed_flat(job), f"model = FullyShardedDataParallel(model, auto_wrap_policy=wrap{given}, "
                f"device_id=rank, use_orig_params={job['keeps_parameters']})", compiled(job))


# ------------------------------------------------------------------------------------------ their imports

DEVICE_MESH = "from torch.distributed.device_mesh import init_device_mesh"


def imports_for_full_sharding(job):
    names = ["CPUOffloadPolicy"] * job["offloads_parameters"] + ["MixedPrecisionPolicy"] * bool(policy(job))
    return text(DEVICE_MESH if meshes(job)[0] else "", f"from torch.distributed.fsdp import {', '.join([*names, 'fully_shard'])}",
                imports_of_splitting(job) if job["tensor_ranks"] > 1 else "", block_import(job))


def imports_for_flat_sharding(job):
    strategy = job["strategy"] or ""
    names = ["BackwardPrefetch"] * ("BackwardPrefetch" in strategy) + ["CPUOffload"] * job["offloads_parameters"] + \
        ["FullyShardedDataParallel"] + ["MixedPrecision"] * bool(mixed_flat(job)) + \
        ["ShardingStrategy"] * ("ShardingStrategy" in strategy)
    return text(DEVICE_MESH if job["replicas"] > 1 else "", f"from torch.distributed.fsdp import {', '.join(names)}",
                "from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy", block_import(job))


WRAPPERS = {  # sharding -> (lines, imports)
    "none": (wraps_nothing, lambda job: ""),
    "ddp": (replicates, lambda job: "from torch.nn.parallel import DistributedDataParallel"),
    "tensor": (splits, lambda job: text(DEVICE_MESH, imports_of_splitting(job))),
    "fsdp1": (shards_flat, imports_for_flat_sharding),
    "fsdp2": (shards_fully, imports_for_full_sharding),
}


def wrapping(job, device):
    return WRAPPERS[job["sharding"]][0](job, device)


def imports_of_wrapping(job):
    return WRAPPERS[job["sharding"]][1](job)
