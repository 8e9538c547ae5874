"""A Phi-3 whose linear layers are split over all ranks; the parts of its fused layers are gathered before they are cut."""
import os

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from transformers import AutoConfig, AutoModelForCausalLM

config = AutoConfig.from_pretrained(".")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
torch.distributed.init_process_group("nccl")
model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
model.to(rank)
mesh = init_device_mesh("cuda", (int(os.environ["WORLD_SIZE"]),))
gathered, cut = ColwiseParallel(output_layouts=Replicate()), RowwiseParallel(input_layouts=Replicate())
parallelize_module(model, mesh, {"model.embed_tokens": cut, "lm_head": gathered})
for block in model.model.layers:
    parallelize_module(block, mesh, {"self_attn.o_proj": cut, "mlp.down_proj": cut, "self_attn.qkv_proj": gathered,
                                     "mlp.gate_up_proj": gathered})
model.train()
whole = [parameter for parameter in model.parameters() if not isinstance(parameter, DTensor)]
split = [parameter for parameter in model.parameters() if isinstance(parameter, DTensor)]
optimizer = torch.optim.AdamW([{"params": split}, {"params": whole}], lr=3e-4)
for _ in range(3):
    ids = torch.randint(0, config.vocab_size, (2, 256))
    batch = {"input_ids": ids, "labels": ids.clone()}
    batch = {name: tensor.to(rank) for name, tensor in batch.items()}
    outputs = model(**batch)
    loss = outputs.loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
