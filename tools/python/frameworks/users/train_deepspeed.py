"""train_deepspeed.py MODEL STAGE bf16|fp16 [offload]: three steps with DeepSpeed's ZeRO."""
import os
import sys

import deepspeed
import torch

import configurations

BATCH, LENGTH = 2, 1024
DTYPES = {"bf16": "bfloat16", "fp16": "float16"}


def engine_settings(stage, precision, offloads):
    zero = {"stage": stage}
    if offloads:
        zero["offload_optimizer"] = {"device": "cpu"}
    return {"train_micro_batch_size_per_gpu": BATCH, precision: {"enabled": True}, "zero_optimization": zero,
            "zero_force_ds_cpu_optimizer": False}


def main():
    name, stage, precision, *more = [word for word in sys.argv[1:] if not word.startswith("--local_rank")]
    deepspeed.init_distributed()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    with torch.device("cuda"):
        model = configurations.make(name, DTYPES[precision])
    model.config.use_cache = False
    model.train()
    engine, *_ = deepspeed.initialize(model=model, optimizer=torch.optim.AdamW(model.parameters()),
                                      config=engine_settings(int(stage), precision, "offload" in more))
    for _ in range(3):
        ids = torch.randint(0, 50000, (BATCH, LENGTH)).to("cuda")
        loss = engine(input_ids=ids, labels=ids).loss
        engine.backward(loss)
        engine.step()


main()
