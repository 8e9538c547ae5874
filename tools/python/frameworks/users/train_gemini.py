"""A decoder of transformers under Colossal-AI 0.3.0's Gemini, trained as LLMem's dp_real.py does.

  highwater record --gpu v100-16 --world 4 --rank 0 --steps 3 -- python3 train_gemini.py config.json policy=cpu batch=2 seq=512

config.json is a config of transformers. Further words: steps=3, init=cpu (the model is not moved before it is wrapped), pin=1,
boundary=512 (policy=const, MiB), warmup=0.8 and steady=0.9 (policy=auto), margin=0.0 (gpu_margin_mem_ratio), smallest=N and
range=N (chunk search, in 2^20 elements), collect=1 (Python's collector runs before each backward and at no other time).
HybridAdam's two kernels, which need a compiler for GPUs, are replaced by functions that do nothing: neither allocates. The scale
of the loss is read from the device, which answers 0, so that its check is left out. Python 3.11 wants
`__hash__ = object.__hash__` in tensor/distspec.py: _DistSpec.
"""

import gc
import os
import sys
import types

import torch
import transformers

import colossalai
import colossalai.kernel.op_builder as op_builder
from colossalai.amp.naive_amp.grad_scaler import DynamicGradScaler
from colossalai.booster import Booster
from colossalai.booster.plugin import GeminiPlugin
from colossalai.nn.optimizer import HybridAdam
from colossalai.zero.gemini.placement_policy import AutoPlacementPolicy, ConstPlacementPolicy


def nothing(*_):
    pass


class CpuAdam:
    def __init__(self, *_):
        self.step = nothing


op_builder.CPUAdamBuilder.load = lambda self, *_: types.SimpleNamespace(CPUAdamOptimizer=CpuAdam)
op_builder.FusedOptimBuilder.load = lambda self, *_: types.SimpleNamespace(multi_tensor_adam=nothing)
DynamicGradScaler._sanity_checks = nothing


def set_policy(args):
    if "boundary" in args:
        ConstPlacementPolicy.set_const_memory_boundary(int(args["boundary"]))
    if "warmup" in args:
        AutoPlacementPolicy.set_warmup_non_model_data_ratio(float(args["warmup"]))
    if "steady" in args:
        AutoPlacementPolicy.set_steady_cuda_cap_ratio(float(args["steady"]))


def make_plugin(args):
    return GeminiPlugin(
        placement_policy=args.get("policy", "cuda"),
        pin_memory=args.get("pin") == "1",
        min_chunk_size_mb=float(args.get("smallest", 32)),
        search_range_mb=float(args.get("range", 32)),
        gpu_margin_mem_ratio=float(args.get("margin", 0)),
    )


def main():
    config = transformers.AutoConfig.from_pretrained(sys.argv[1], attn_implementation="eager")
    args = dict(word.split("=") for word in sys.argv[2:])
    rank, world, port = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "MASTER_PORT"))
    colossalai.launch(config={}, rank=rank, world_size=world, host=os.environ["MASTER_ADDR"], port=port, local_rank=0)
    set_policy(args)
    model = transformers.AutoModelForCausalLM.from_config(config)
    if args.get("init") != "cpu":
        model.to("cuda")
    model.gradient_checkpointing_enable(dict(use_reentrant=True))
    model.half()
    torch.cuda.empty_cache()
    model.train()
    optimizer = HybridAdam(model.parameters(), lr=1e-5)
    model, optimizer, *_ = Booster(plugin=make_plugin(args)).boost(model, optimizer)
    torch.cuda.empty_cache()
    tokens = torch.zeros(int(args["batch"]), int(args["seq"]), dtype=torch.long)
    mask = torch.ones_like(tokens)
    if args.get("collect") == "1":
        gc.disable()
    for step in range(int(args.get("steps", 3))):
        input_ids = tokens.to("cuda")
        attention_mask = mask.to("cuda")
        labels = tokens.to("cuda")
        loss = model(input_ids=input_ids, attention_mask=attention_mask, labels=labels, use_cache=False)[0]
        if args.get("collect") == "1":
            gc.collect()
        optimizer.backward(loss)
        if step == 0:
            torch.cuda.empty_cache()
        optimizer.step()
        optimizer.zero_grad()


main()
