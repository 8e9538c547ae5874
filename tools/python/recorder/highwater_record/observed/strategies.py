"""How a model is spread over ranks, by the wrappers that PyTorch, DeepSpeed and others put around it."""
import sys

from .models import innermost, type_name


def described(torch, module):
    """JSON values; "kind" is none, ddp, fsdp1, fsdp2 or deepspeed."""
    ranks = _ranks(torch)
    for part in module.modules():
        for name, describe in _KINDS.items():
            kind = _class(name)
            if kind is not None and isinstance(part, kind):
                return {"ranks": ranks, **describe(torch, module, part), **_meshes(module)}
    return {"kind": "none", "ranks": ranks, **_meshes(module)}


def syncs(module):
    """Whether the backward that follows reduces gradients; None where nothing is reduced."""
    for part in module.modules():
        if hasattr(part, "require_backward_grad_sync"):
            return bool(part.require_backward_grad_sync)
        groups = _groups_of(part) if hasattr(part, "_get_fsdp_state") else ()
        if groups:
            return bool(groups[0].reduce_grads)
        if hasattr(part, "_sync_gradients"):
            return bool(part._sync_gradients)
    return None


def partitions_as_made():
    """Whether deepspeed.zero.Init() is entered."""
    return getattr(sys.modules.get("deepspeed.runtime.zero.partition_parameters"), "top_level_context", None) is not None


def _ranks(torch):
    distributed = torch.distributed
    return distributed.get_world_size() if distributed.is_available() and distributed.is_initialized() else 1


def _class(name):
    module, _, kind = name.rpartition(".")
    return getattr(sys.modules.get(module), kind, None)


def _ddp(torch, module, ddp):
    cap = None if getattr(ddp, "bucket_bytes_cap_default", False) else ddp.bucket_bytes_cap / 2**20
    hook = getattr(ddp, "_comm_hooks", None) or ()
    return {"kind": "ddp", "bucket_cap_mb": cap, "bucket_view": bool(ddp.gradient_as_bucket_view),
            "static_graph": bool(ddp.static_graph), "find_unused_parameters": bool(ddp.find_unused_parameters),
            "hooks": [getattr(one[0], "__name__", str(one[0])) for one in hook]}


def _fsdp1(torch, module, fsdp):
    mixed = fsdp.mixed_precision
    return {"kind": "fsdp1", "strategy": fsdp.sharding_strategy.name.lower(),
            "param_dtype": type_name(mixed.param_dtype), "reduce_dtype": type_name(mixed.reduce_dtype or mixed.param_dtype),
            "use_orig_params": bool(fsdp._use_orig_params), "limit_all_gathers": bool(fsdp.limit_all_gathers),
            "forward_prefetch": bool(fsdp.forward_prefetch),
            "backward_prefetch": fsdp.backward_prefetch.name.lower() if fsdp.backward_prefetch else None,
            "offload": bool(fsdp.cpu_offload and fsdp.cpu_offload.offload_params)}


def _fsdp2(torch, module, _):
    units = [(name, part, _groups_of(part)) for name, part in module.named_modules() if hasattr(part, "_get_fsdp_state")]
    units = [unit for unit in units if unit[2]]
    if not units:
        return {"kind": "fsdp2"}
    group = next((groups[0] for _, part, groups in units if part is not module), units[0][2][0])
    first = group.fsdp_params[0]
    policy, info = getattr(first, "mp_policy", None) or group.mp_policy, group.mesh_info  # of each parameter; until 2.14 of the group, too
    return {"kind": "fsdp2", "param_dtype": type_name(policy.param_dtype), "reduce_dtype": type_name(policy.reduce_dtype),
            "replicas": getattr(info, "replicate_mesh_size", 1), "shards": getattr(info, "shard_mesh_size", 1),
            "units": [{"name": name, "class": _own_class(part), "reshards": _reshards(part, groups[0], part is module),
                       **_kept_parts(groups[0])} for name, part, groups in units],
            "offload": bool(first.offload_to_cpu)}


def _reshards(part, group, is_root):
    """Since 2.8 the root keeps its parameters unless the script says otherwise, which its first forward finds out."""
    is_untold = getattr(part._get_fsdp_state(), "_auto_reshard_after_forward", False)
    return group.post_forward_mesh_info is not None and not (is_root and is_untold)


def _kept_parts(group):
    """reshard_after_forward=N: over how many ranks parameters are spread between forward and backward."""
    ranks = getattr(group.post_forward_mesh_info, "shard_mesh_size", None)
    return {"kept_over": ranks} if ranks is not None and ranks != group.mesh_info.shard_mesh_size else {}


def _deepspeed(torch, module, engine):
    return {"kind": "deepspeed", "stage": engine.zero_optimization_stage(), "config": getattr(engine.config, "_param_dict", None)
            if not isinstance(engine.config, dict) else engine.config, **_shared_sequences(engine)}


def _shared_sequences(engine):
    """Ulysses: over how many ranks each sequence is spread, and whether its attention around transformers' is what exchanges."""
    ranks = getattr(engine, "sequence_parallel_size", 1)
    if ranks == 1:
        return {}
    functions = getattr(sys.modules.get("transformers.modeling_utils"), "ALL_ATTENTION_FUNCTIONS", {})
    is_known = any(getattr(function, "__qualname__", "").startswith("UlyssesSPAttentionHF.") for function in functions.values())
    return {"sequence_ranks": ranks, "sequence_attention": "ulysses" if is_known else None}


def _own_class(part):
    """fully_shard puts a class of its own before the module's."""
    return next(kind.__name__ for kind in type(part).__mro__ if not kind.__name__.startswith("FSDP"))


def _groups_of(part):
    state = part._get_fsdp_state()
    several = getattr(state, "_fsdp_param_groups", None)
    return several if several is not None else [one for one in [state._fsdp_param_group] if one]


def _meshes(module):
    """Meshes of tensors that are spread other than by fully_shard: {"mesh": {dimension: size}, "placements": [...]}."""
    kind = _class("torch.distributed.tensor.DTensor")
    if kind is None:
        return {}
    for parameter in innermost(module).parameters():
        if isinstance(parameter, kind):
            mesh = parameter.device_mesh
            names = mesh.mesh_dim_names or [str(place) for place in range(mesh.ndim)]
            return {"mesh": {name: mesh.size(place) for place, name in enumerate(names)}}
    return {}


_KINDS = {
    "deepspeed.runtime.engine.DeepSpeedEngine": _deepspeed,
    "torch.nn.parallel.distributed.DistributedDataParallel": _ddp,
    "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel": _fsdp1,
    "torch.distributed.fsdp._fully_shard._fully_shard.FSDPModule": _fsdp2,
    "torch.distributed.fsdp.FSDPModule": _fsdp2,
}
