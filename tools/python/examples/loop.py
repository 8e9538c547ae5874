"""A plain training loop.

    highwater record --gpu h100-80 --steps 3 -- python3 loop.py
"""
import torch

model = torch.nn.TransformerEncoder(
    torch.nn.TransformerEncoderLayer(d_model=512, nhead=8, dim_feedforward=2048, batch_first=True), num_layers=6).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(100):
    batch = torch.randn(16, 256, 512, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {step}: loss {loss.item()}")  # 0: kernels compute nothing
