"""From a model's configuration to the module that a plain script calls: DDP, FullyShardedDataParallel, fully_shard,
parallelize_module, and both of the latter.

Each way has lines that make the model and lines that wrap it. tools/python/measure runs the latter as they are.
"""
import dataclasses
from collections.abc import Callable

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
    return text(f"model = {built(job)}", adapted(job), in_float8(job), checkpointed(job),
                "" if job["quantize"] else f"model.to({device})")


def compiled(job):
    return "model = torch.compile(model)" if job["compile"] else ""


# ------------------------------------------------------------------------------------------ one GPU, DDP, DTensors

def is_left_alone(job):
    return compiled(job)


def is_replicated(job):
    return text(f"model = DistributedDataParallel(model{job['ddp']})", compiled(job))


def is_split(job):
    if job["stages"] > 1:  # the pipeline's mesh is there
        return split(job, 'mesh["tp"]')
    return text(f'mesh = init_device_mesh("{job["device"]}", ({job["tensor_ranks"]},))', split(job, "mesh"), compiled(job))


# ------------------------------------------------------------------------------------------ fully_shard

def on_meta(job, device):
    return text('with torch.device("meta"):', f"    model = {built(job)}", indented(adapted(job)), in_float8(job),
                checkpointed(job))


def meshes(job):
    """(the line that makes the mesh, its part for parallelize_module, its part for fully_shard)"""
    ranks, parts = job["ranks"], job["tensor_ranks"]
    if job["stages"] > 1:
        return "", 'mesh["tp"]' if parts > 1 else None, 'mesh["dp"]'
    if parts > 1:
        return (f'mesh = init_device_mesh("{job["device"]}", ({ranks // parts}, {parts}), mesh_dim_names=("dp", "tp"))',
                'mesh["tp"]', 'mesh["dp"]')
    if job["context_ranks"] > 1:
        sizes = f"({ranks // job['context_ranks']}, {job['context_ranks']})"
        return (text(f'mesh = init_device_mesh("{job["device"]}", {sizes}, mesh_dim_names=("dp", "cp"))',
                     'mesh["dp", "cp"]._flatten("dp_cp")'), None, 'mesh["dp_cp"]')
    if job["replicas"] > 1:
        return (f'mesh = init_device_mesh("{job["device"]}", ({job["replicas"]}, {ranks // job["replicas"]}), '
                'mesh_dim_names=("replicate", "shard"))', None, "mesh")
    return "", None, None


def policy(job):
    types = [f"{field}={dtype(job, name)}" for field, name in (("param_dtype", "param_dtype"),
                                                               ("reduce_dtype", "reduce_dtype")) if dtype(job, name)]
    return f"policy = MixedPrecisionPolicy({', '.join(types)})" if types else ""


def sharding_arguments(job, mesh, reshard):
    return "".join((f", mesh={mesh}" if mesh else "", ", mp_policy=policy" if policy(job) else "",
                    ", offload_policy=CPUOffloadPolicy()" if job["offloads_parameters"] else "",
                    "" if reshard is None else f", reshard_after_forward={reshard}"))


def reshardings(job):
    """What blocks and the whole model are told."""
    return ("block is not blocks[-1]", True) if job["reshard"] == "but-last" else (job["reshard"], job["reshard"])


def is_fully_sharded(job):
    mesh, tensor_mesh, data_mesh = meshes(job)
    of_blocks, of_model = (sharding_arguments(job, data_mesh, reshard) for reshard in reshardings(job))
    return text(mesh, split(job, tensor_mesh) if tensor_mesh else "", policy(job),
                f"blocks = [module for module in model.modules() if isinstance(module, {job['model'].block[1]})]",
                "for block in blocks:", "    block.compile()" if job["compile"] else "",
                f"    fully_shard(block{of_blocks})", f"fully_shard(model{of_model})")


def filled(job):
    """What was made on meta gets memory."""
    if not job["offloads_parameters"]:
        return 'model.to_empty(device="cuda")'
    return text('model.to_empty(device="cpu")', "for buffer in model.buffers():",
                '    buffer.data = buffer.data.to("cuda")')


# ------------------------------------------------------------------------------------------ FullyShardedDataParallel

def on_host(job, device):
    return text(f"model = {built(job)}", adapted(job), in_float8(job), checkpointed(job))


def mixed_flat(job):
    computed = dtype(job, "param_dtype")
    return (f"mixed = MixedPrecision(param_dtype={computed}, reduce_dtype={dtype(job, 'reduce_dtype')}, "
            f"buffer_dtype={computed})") if computed else ""


def is_sharded_flat(job):
    mesh = (f'mesh = init_device_mesh("cuda", ({job["replicas"]}, {job["ranks"] // job["replicas"]}))'
            if job["replicas"] > 1 else "")
    given = "".join((", mixed_precision=mixed" if mixed_flat(job) else "", ", device_mesh=mesh" if mesh else "",
                     ", cpu_offload=CPUOffload(offload_params=True)" if job["offloads_parameters"] else "",
                     job["strategy"] or ""))
    return text(f"wrap = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={{{job['model'].block[1]}}})",
                mesh, mixed_flat(job), f"model = FullyShardedDataParallel(model, auto_wrap_policy=wrap{given}, "
                f"device_id=rank, use_orig_params={job['keeps_parameters']})", compiled(job))


# ------------------------------------------------------------------------------------------ their imports

DEVICE_MESH = "from torch.distributed.device_mesh import init_device_mesh"


def imports_for_full_sharding(job):
    names = ["CPUOffloadPolicy"] * job["offloads_parameters"] + ["MixedPrecisionPolicy"] * bool(policy(job))
    return text(DEVICE_MESH if meshes(job)[0] else "", f"from torch.distributed.fsdp import {', '.join([*names, 'fully_shard'])}",
                imports_of_splitting(job) if job["tensor_ranks"] > 1 else "",
                "from torch.distributed.tensor.experimental import context_parallel" if job["context_ranks"] > 1 else "",
                block_import(job))


def imports_for_flat_sharding(job):
    strategy = job["strategy"] or ""
    names = ["BackwardPrefetch"] * ("BackwardPrefetch" in strategy) + ["CPUOffload"] * job["offloads_parameters"] + \
        ["FullyShardedDataParallel"] + ["MixedPrecision"] * bool(mixed_flat(job)) + \
        ["ShardingStrategy"] * ("ShardingStrategy" in strategy)
    return text(DEVICE_MESH if job["replicas"] > 1 else "", f"from torch.distributed.fsdp import {', '.join(names)}",
                "from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy", block_import(job))


def imports_of_replicas(job):
    return "from torch.nn.parallel import DistributedDataParallel"


def imports_of_tensors(job):
    return text(DEVICE_MESH, imports_of_splitting(job))


def nothing(job):
    return ""


@dataclasses.dataclass(frozen=True)
class Wrapper:
    """Functions of a job that return lines."""
    makes: Callable      # of (job, device): the model
    wraps: Callable      # what a script calls, from `model`
    imports: Callable    # of the lines that wrap it
    fills: Callable = nothing  # memory for what was made on meta


WRAPPERS = {
    "none": Wrapper(on_device, is_left_alone, nothing),
    "ddp": Wrapper(on_device, is_replicated, imports_of_replicas),
    "tensor": Wrapper(on_device, is_split, imports_of_tensors),
    "fsdp1": Wrapper(on_host, is_sharded_flat, imports_for_flat_sharding),
    "fsdp2": Wrapper(on_meta, is_fully_sharded, imports_for_full_sharding, filled),
}


def wrapping_alone(job):
    """With its imports, for a `model` that is there."""
    return text(imports_of_wrapping(job), WRAPPERS[job["sharding"]].wraps(job))


def wrapping(job, device):
    wrapper = WRAPPERS[job["sharding"]]
    return text(wrapper.makes(job, device), wrapper.wraps(job), wrapper.fills(job))


def imports_of_wrapping(job):
    return WRAPPERS[job["sharding"]].imports(job)
