"""A Llama in bf16, compiled as a whole."""
import torch
from transformers import AutoConfig, AutoModelForCausalLM

config = AutoConfig.from_pretrained(".")
model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
model.to("cuda")
model = torch.compile(model)
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
