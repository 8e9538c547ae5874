"""The options of DistributedDataParallel, fully_shard and FullyShardedDataParallel as a job says them."""
from .common import optional


def ddp_keywords(plan, devices="[rank]"):
    """Of DistributedDataParallel. devices: None on the host."""
    given = {"device_ids": devices, "bucket_cap_mb": optional(plan["bucket_cap_mb"]), "gradient_as_bucket_view": plan["bucket_view"],
             "static_graph": plan["static_graph"], "find_unused_parameters": plan["find_unused_parameters"]}
    return "".join(f", {name}={value}" for name, value in given.items() if value)


def full_sharding(plan):
    reshard = {"always": None, "all": True, "never": False}
    return {"param_dtype": optional(plan["param_dtype"]), "reduce_dtype": optional(plan["reduce_dtype"]),
            "reshard": reshard[plan.one_of("reshard", *reshard)]}


def flat_sharding(plan):
    computed, reduced = optional(plan["param_dtype"]), optional(plan["reduce_dtype"])
    return {"param_dtype": computed, "reduce_dtype": reduced or computed, "strategy": flat_keywords(plan),
            "keeps_parameters": plan["use_orig_params"]}


def flat_keywords(plan):
    """Further keywords of FullyShardedDataParallel."""
    prefetch = {"pre": None, "post": "BackwardPrefetch.BACKWARD_POST", "none": "None"}[plan["backward_prefetch"]]
    strategy = None if plan["strategy"] == "full_shard" else f"ShardingStrategy.{plan['strategy'].upper()}"
    given = {"sharding_strategy": strategy, "backward_prefetch": prefetch,
             "limit_all_gathers": None if plan["limit_all_gathers"] else False,
             "forward_prefetch": True if plan["forward_prefetch"] else None}
    return "".join(f", {name}={value}" for name, value in given.items() if value is not None) or None
