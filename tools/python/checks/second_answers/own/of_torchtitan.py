"""torchtitan's own reading of its TOML files (0.2.2, the last release that has them)."""

from torchtitan.config import ConfigManager
from words import TYPES


def strategy_of(config, ranks):
    degrees = config.parallelism
    shards = degrees.data_parallel_shard_degree
    others = (degrees.data_parallel_replicate_degree * degrees.tensor_parallel_degree * degrees.context_parallel_degree *
              degrees.pipeline_parallel_degree)
    shards = ranks // others if shards < 0 else shards
    return {"replicas": degrees.data_parallel_replicate_degree, "ranks": shards * degrees.data_parallel_replicate_degree}


def clip_of(config):
    """Gradients are gone when they would be clipped, if each steps in the backward."""
    return 0.0 if config.optimizer.early_step_in_backward else float(config.training.max_norm)


def meaning(request):
    config = ConfigManager().parse_args(request["argv"])
    training, degrees = config.training, config.parallelism
    ranks = strategy_of(config, request["ranks"])
    one_pass = training.local_batch_size * ranks["ranks"]
    batch = training.global_batch_size if training.global_batch_size > 0 else one_pass
    return {"batch": training.local_batch_size, "sequence": training.seq_len, "weights": TYPES[training.dtype],
            "accumulation": batch // one_pass, "clip": clip_of(config), "tensor": degrees.tensor_parallel_degree,
            "pipeline": degrees.pipeline_parallel_degree, "context": degrees.context_parallel_degree,
            "expert": degrees.expert_parallel_degree, "checkpoint": activation(config.activation_checkpoint),
            "optimizer": config.optimizer.name.lower(), "fused": config.optimizer.implementation == "fused",
            "offload": "params" if training.enable_cpu_offload else "none", "ranks": ranks["ranks"]}


def activation(checkpoint):
    if checkpoint.mode == "selective":
        option = checkpoint.selective_ac_option
        return "selective-op" if option == "op" else "full" if option == "1" else f"every-{option}"
    return checkpoint.mode
