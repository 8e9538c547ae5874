"""What a block is for as far as its call stack tells: copies of weights and buffers of communication, which nobody holds
as a named tensor.

Sources (PyTorch 2.15): torch/distributed/fsdp/_fully_shard/{_fsdp_param,_fsdp_collectives}.py, torch/distributed/fsdp/
_flat_param.py, torch/nn/parallel/distributed.py, torch/distributed/distributed_c10d.py.
"""

# Files whose functions only pass a request on.
_PASSING_ON = ("torch/_ops.py", "torch/storage.py", "torch/_utils.py", "torch/utils/_contextlib.py",
               "torch/distributed/utils.py", "torch/distributed/_functional_collectives.py")

# End of the file's name, functions (all if none is named), category; the first that fits.
_ROLES = (
    ("/_fully_shard/_fsdp_param.py", ("alloc_storage", "alloc_all_gather_outputs", "init_all_gather_outputs", "<listcomp>"),
     "weight_copy"),
    ("/_fully_shard/_fsdp_collectives.py", (), "communication"),
    ("/fsdp/_flat_param.py", ("_use_low_precision_shard", "_alloc_padded_unsharded_flat_param",
                              "init_flat_param_attributes"), "weight_copy"),
    ("/fsdp/_flat_param.py", ("flatten_tensors",), "parameter"),
    ("/fsdp/_init_utils.py", ("_move_states_to_device",), "parameter"),
    ("/torch/nn/parallel/distributed.py", (), "communication"),
    ("/torch/distributed/distributed_c10d.py", (), "communication"),
    ("/deepspeed/comm/torch.py", (), "communication"),
)


def of_stack(frames):
    """The category of a block with these frames, innermost first, or None: the first function that does more than pass
    the request on decides."""
    for frame in frames:
        if frame["filename"].endswith(_PASSING_ON):
            continue
        return next((category for file, functions, category in _ROLES if frame["filename"].endswith(file) and
                     (not functions or frame["name"] in functions)), None)
    return None
