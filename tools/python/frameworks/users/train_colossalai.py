"""A GPT of Colossal-AI's layers, as hpcaitech's Titans builds it, under 2D, 2.5D or 3D tensor parallelism.

  highwater record --gpu a100-80 --world 4 --rank 0 --steps 3 -- python3 train_colossalai.py gpt.json size=4 mode=2d batch=4 seq=256

gpt.json is a config of GPT-2; further words: depth=2 (mode=2.5d), dtype=float16, steps=3. Colossal-AI 0.5 imports peft,
galore_torch, einops and bitsandbytes without using them here; empty packages of these names do.
"""
import json
import math
import os
import sys

import torch
import torch.nn.functional as F

import colossalai.legacy.nn as col_nn
from colossalai.context import Config
from colossalai.legacy.core import global_context as gpc
from colossalai.legacy.nn.layer.utils import divide


class Embeddings(torch.nn.Module):
    def __init__(self, config, dtype):
        super().__init__()
        self.words = col_nn.Embedding(config["vocab_size"], config["n_embd"], dtype=dtype)
        self.positions = col_nn.Embedding(config["n_positions"], config["n_embd"], dtype=dtype)
        self.dropout = col_nn.Dropout(config["embd_pdrop"])

    def forward(self, input_ids):
        places = torch.arange(input_ids.size(1), dtype=torch.long, device="cuda").unsqueeze(0)
        places = places.repeat(input_ids.size(0), 1)
        x = self.words(input_ids) + self.positions(places)
        return self.dropout(x)


class Attention(torch.nn.Module):
    def __init__(self, config, dtype):
        super().__init__()
        width = config["n_embd"]
        self.head_dim = divide(width, config["n_head"])
        self.query_key_value = col_nn.Linear(width, 3 * width, dtype=dtype)
        self.softmax = torch.nn.Softmax(dim=-1)
        self.attention_dropout = col_nn.Dropout(config["attn_pdrop"])
        self.dense = col_nn.Linear(width, width, dtype=dtype)
        self.dropout = col_nn.Dropout(config["resid_pdrop"])

    def forward(self, x):
        qkv = self.query_key_value(x)
        width = qkv.shape[-1] // 3
        qkv = qkv.view(qkv.shape[:-1] + (divide(width, self.head_dim), 3 * self.head_dim))
        qkv = qkv.permute((0, 2, 1, 3))
        q, k, v = torch.chunk(qkv, 3, dim=-1)
        x = torch.matmul(q, k.transpose(-1, -2))
        x = x / math.sqrt(self.head_dim)
        q_len, k_len = q.size(-2), k.size(-2)
        causal = torch.tril(torch.ones((q_len, k_len), dtype=torch.uint8, device="cuda")).view(1, 1, q_len, k_len).bool()
        x = torch.where(causal, x, torch.tensor(-1e4, dtype=x.dtype, device="cuda"))
        x = self.softmax(x)
        x = self.attention_dropout(x)
        x = torch.matmul(x, v)
        x = x.transpose(1, 2)
        x = x.reshape(x.size()[:-2] + (width,))
        x = self.dense(x)
        return self.dropout(x)


class Mlp(torch.nn.Module):
    def __init__(self, config, dtype):
        super().__init__()
        inner = config.get("n_inner") or 4 * config["n_embd"]
        self.linear_1 = col_nn.Linear(config["n_embd"], inner, dtype=dtype)
        self.linear_2 = col_nn.Linear(inner, config["n_embd"], dtype=dtype)
        self.dropout = col_nn.Dropout(config["resid_pdrop"])

    def forward(self, x):
        x = self.linear_1(x)
        x = F.gelu(x)
        x = self.linear_2(x)
        return self.dropout(x)


class Block(torch.nn.Module):
    def __init__(self, config, dtype):
        super().__init__()
        self.norm1 = col_nn.LayerNorm(config["n_embd"], dtype=dtype)
        self.attn = Attention(config, dtype)
        self.norm2 = col_nn.LayerNorm(config["n_embd"], dtype=dtype)
        self.mlp = Mlp(config, dtype)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        return x


class Gpt(torch.nn.Module):
    def __init__(self, config, dtype):
        super().__init__()
        self.embed = Embeddings(config, dtype)
        self.blocks = torch.nn.ModuleList(Block(config, dtype) for _ in range(config["n_layer"]))
        self.norm = col_nn.LayerNorm(config["n_embd"], dtype=dtype)
        weight = self.embed.words.weight if config["tie_word_embeddings"] else None
        self.head = col_nn.Classifier(config["n_embd"], config["vocab_size"], weight, bias=False, dtype=dtype)

    def forward(self, input_ids):
        x = self.embed(input_ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class LanguageModelLoss(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.loss = col_nn.CrossEntropyLoss()

    def forward(self, logits, labels):
        logits = logits[..., :-1, :].contiguous()
        labels = labels[..., 1:].contiguous()
        return self.loss(logits.view(-1, logits.size(-1)), labels.view(-1))


def launch(tensor):
    rank, world, port = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "MASTER_PORT"))
    gpc.load_config(Config(dict(parallel=dict(tensor=tensor))))
    gpc.init_global_dist(rank, world, "nccl", os.environ["MASTER_ADDR"], port)
    gpc.init_parallel_groups()
    gpc.set_device(0)
    gpc.set_seed(1024)


def main():
    defaults = dict(n_positions=1024, n_inner=None, embd_pdrop=0.1, attn_pdrop=0.1, resid_pdrop=0.1, tie_word_embeddings=True)
    config = {**defaults, **json.load(open(sys.argv[1]))}
    args = dict(word.split("=") for word in sys.argv[2:])
    tensor = dict(size=int(args["size"]), mode=args["mode"])
    if "depth" in args:
        tensor["depth"] = int(args["depth"])
    launch(tensor)
    model = Gpt(config, getattr(torch, args.get("dtype", "float32")))
    criterion = LanguageModelLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.zeros(int(args["batch"]), int(args["seq"]), dtype=torch.long)
    batches = [dict(input_ids=tokens, labels=tokens)] * int(args.get("steps", 3))
    for batch in batches:
        batch = {name: value.to("cuda") for name, value in batch.items()}
        logits = model(batch["input_ids"])
        loss = criterion(logits, batch["labels"])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


main()
