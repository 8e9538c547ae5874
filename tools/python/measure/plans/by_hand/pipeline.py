"""A Llama in bf16, its blocks on two ranks, four micro-batches by 1F1B."""
import copy
import os

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from transformers import AutoConfig, AutoModelForCausalLM


class Part(torch.nn.Module):
    def __init__(self, whole, index):
        super().__init__()
        self.model, self.head, self.index = whole.model, whole.lm_head if index == 1 else None, index
        self.model.layers = self.model.layers[2 * index:2 * index + 2]
        if index == 0:
            self.model.norm = torch.nn.Identity()
        else:
            self.model.embed_tokens = None

    def forward(self, states):
        given = {"inputs_embeds": states} if self.index else {"input_ids": states}
        states = self.model(**given, use_cache=False).last_hidden_state
        return self.head(states) if self.head else states


config = AutoConfig.from_pretrained(".")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
torch.distributed.init_process_group("nccl")
mesh = init_device_mesh("cuda", (2,), mesh_dim_names=("pp",))
model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
part = Part(copy.deepcopy(model), rank).to("cuda").train()
stage = PipelineStage(part, rank, 2, torch.device("cuda"), group=mesh["pp"].get_group())
schedule = Schedule1F1B(stage, 4, loss_fn=lambda logits, labels: model.loss_function(logits, labels, config.vocab_size))
optimizer = torch.optim.AdamW(part.parameters(), lr=3e-4)
for _ in range(3):
    ids = torch.randint(0, config.vocab_size, (8, 256))
    tokens = ids.to(rank)
    labels = ids.to(rank)
    losses: list[torch.Tensor] = []
    if rank == 0:
        schedule.step(tokens)
    else:
        schedule.step(target=labels, losses=losses)
    optimizer.step()
    optimizer.zero_grad()
