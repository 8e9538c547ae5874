"""A Llama over ranks in two dimensions: linear layers split over two, everything sharded over the others."""
import os

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import Replicate
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from transformers import AutoConfig, AutoModelForCausalLM

config = AutoConfig.from_pretrained(".")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
torch.distributed.init_process_group("nccl")
mesh = init_device_mesh("cuda", (int(os.environ["WORLD_SIZE"]) // 2, 2), mesh_dim_names=("dp", "tp"))
with torch.device("meta"):
    model = AutoModelForCausalLM.from_config(config)
parallelize_module(model, mesh["tp"], {"model.embed_tokens": RowwiseParallel(input_layouts=Replicate()),
                                       "lm_head": ColwiseParallel(output_layouts=Replicate())})
mixed = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
for block in model.model.layers:
    parallelize_module(block, mesh["tp"], {
        "self_attn.o_proj": RowwiseParallel(), "mlp.down_proj": RowwiseParallel(),
        "self_attn.q_proj": ColwiseParallel(), "self_attn.k_proj": ColwiseParallel(),
        "self_attn.v_proj": ColwiseParallel(), "mlp.gate_proj": ColwiseParallel(), "mlp.up_proj": ColwiseParallel()})
for block in model.model.layers:
    fully_shard(block, mesh=mesh["dp"], mp_policy=mixed)
fully_shard(model, mesh=mesh["dp"], mp_policy=mixed)
model.to_empty(device="cuda")
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
for _ in range(3):
    ids = torch.randint(0, config.vocab_size, (2, 256))
    batch = {"input_ids": ids, "labels": ids.clone()}
    batch = {name: tensor.to("cuda") for name, tensor in batch.items()}
    outputs = model(**batch)
    loss = outputs.loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
