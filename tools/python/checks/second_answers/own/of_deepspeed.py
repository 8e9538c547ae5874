"""DeepSpeed's own reading of its file, as on as many GPUs as the request says."""

import json

import deepspeed.comm
from deepspeed.runtime.config import DeepSpeedConfig
from words import offload_of

deepspeed.comm.get_rank = lambda group=None: 0  # asked before the number of ranks is

OPTIMIZERS = {"adam": "adamw", "adamw": "adamw", "sgd": "sgd", "lamb": "lamb-32bit"}  # FusedLamb has fp32 states


class Ranks:
    """What DeepSpeedConfig asks of a mesh of tensor-parallel ranks."""

    def __init__(self, ranks):
        self.ranks = ranks

    def get_data_parallel_world_size(self):
        return self.ranks

    def get_model_parallel_world_size(self):
        return 1


def offloads(part):
    return part is not None and str(part.device).rpartition(".")[2] != "none"


def optimizer_of(config):
    name = (config.optimizer_name or "").lower()
    return {"optimizer": OPTIMIZERS.get(name, name)} if name else {}


def meaning(request):
    config = DeepSpeedConfig(json.loads(request["files"]["ds.json"]), mpu=Ranks(request["ranks"]))
    zero = config.zero_config
    stage = int(zero.stage)
    host = (stage > 0 and offloads(zero.offload_optimizer), stage == 3 and offloads(zero.offload_param))  # others warn
    precision = "bf16" if config.bfloat16_config.enabled else "fp16" if config.float16_config.enabled else "fp32"
    return {"batch": config.train_micro_batch_size_per_gpu, "accumulation": config.gradient_accumulation_steps,
            "clip": float(config.gradient_clipping or 0), "strategy": f"zero{stage}", "weights": precision,
            "offload": offload_of(*host), **optimizer_of(config)}
