"""A BERT with Colossal-AI's ring self-attention (Li et al. 2021): each rank has a part of every sequence.

  highwater record --gpu a100-80 --world 4 --rank 0 --steps 3 -- python3 train_ring_attention.py ring.json size=4 batch=4 seq=128

ring.json names sizes as a config of GPT-2 does; further words: dtype=float16, mask=true, steps=3. Layers have the shapes of Colossal-AI's
example (examples/tutorial/sequence_parallel); its norms, biases and activations are compiled kernels, for which
PyTorch's operators stand here. What Colossal-AI 0.5 imports besides is in train_colossalai.py.
"""
import json
import os
import sys

import torch
import torch.nn.functional as F

from colossalai.context import Config
from colossalai.legacy.context import ParallelMode
from colossalai.legacy.core import global_context as gpc
from colossalai.legacy.engine.gradient_handler import SequenceParallelGradientHandler
from colossalai.legacy.nn.layer.parallel_sequence import TransformerSelfAttentionRing


def hide(scores, mask):
    return scores.masked_fill_(mask, -10000.0)


class Dense(torch.nn.Linear):
    """A linear layer that leaves adding its bias to the caller."""

    def forward(self, x):
        return F.linear(x, self.weight), self.bias


def inner_width(config):
    return config["n_inner"] or 4 * config["n_embd"]


class Mlp(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.dense_h_to_4h = Dense(config["n_embd"], inner_width(config))
        self.dense_4h_to_h = Dense(inner_width(config), config["n_embd"])

    def forward(self, x):
        x, bias = self.dense_h_to_4h(x)
        x = F.gelu(x + bias)
        return self.dense_4h_to_h(x)


class Layer(torch.nn.Module):
    def __init__(self, config, number, dtype):
        super().__init__()
        width = config["n_embd"]
        self.dropout = config["resid_pdrop"]
        self.input_layernorm = torch.nn.LayerNorm(width)
        self.self_attention = TransformerSelfAttentionRing(
            width, config["n_head"], config["attn_pdrop"], hide, number,
            apply_query_key_layer_scaling=True, masked_softmax_fusion=False,
            fp16=dtype == torch.float16, bf16=dtype == torch.bfloat16)
        self.post_attention_layernorm = torch.nn.LayerNorm(width)
        self.mlp = Mlp(config)

    def add(self, x, bias, residual):
        out = F.dropout(x + bias, p=self.dropout, training=self.training)
        out = residual + out
        return out

    def forward(self, hidden_states, mask):
        x = self.input_layernorm(hidden_states)
        x, bias = self.self_attention(x, mask)
        hidden_states = self.add(x, bias, hidden_states)
        x = self.post_attention_layernorm(hidden_states)
        x, bias = self.mlp(x)
        return self.add(x, bias, hidden_states)


class Head(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        width = config["n_embd"]
        self.bias = torch.nn.Parameter(torch.zeros(config["vocab_size"]))
        self.dense = torch.nn.Linear(width, width)
        self.layernorm = torch.nn.LayerNorm(width)

    def forward(self, x, words, labels):
        x = self.dense(x)
        x = F.gelu(x)
        x = self.layernorm(x)
        logits = F.linear(x, words, self.bias)
        return F.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1))


class Bert(torch.nn.Module):
    def __init__(self, config, dtype):
        super().__init__()
        width = config["n_embd"]
        self.words = torch.nn.Embedding(config["vocab_size"], width)
        self.positions = torch.nn.Embedding(config["n_positions"], width)
        self.dropout = torch.nn.Dropout(config["embd_pdrop"])
        self.layers = torch.nn.ModuleList(Layer(config, i + 1, dtype) for i in range(config["n_layer"]))
        self.layer_norm = torch.nn.LayerNorm(width)
        self.head = Head(config)

    def embed(self, input_ids):
        length, rank = input_ids.size(1), gpc.get_local_rank(ParallelMode.SEQUENCE)
        places = torch.arange(length * rank, length * (rank + 1), device="cuda").unsqueeze(0).expand_as(input_ids)
        words = self.words(input_ids)
        positions = self.positions(places)
        x = words + positions
        return self.dropout(x)

    def hidden_keys(self, mask, length):
        """[b, 1, s / N, s] of where a query or a key is padding."""
        if mask is None:
            return None
        rank = gpc.get_local_rank(ParallelMode.SEQUENCE)
        both = mask.unsqueeze(1) * mask.unsqueeze(2)
        own = both[:, rank * length:(rank + 1) * length, :]
        return own.unsqueeze(1) < 0.5

    def forward(self, input_ids, labels, attention_mask=None):
        mask = self.hidden_keys(attention_mask, input_ids.size(1))
        x = self.embed(input_ids)
        x = x.transpose(0, 1).contiguous()
        for layer in self.layers:
            x = layer(x, mask)
        x = x.transpose(0, 1).contiguous()
        x = self.layer_norm(x)
        return self.head(x, self.words.weight, labels)


def launch(size):
    rank, world, port = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "MASTER_PORT"))
    gpc.load_config(Config(dict(parallel=dict(tensor=dict(size=size, mode="sequence")))))
    gpc.init_global_dist(rank, world, "nccl", os.environ["MASTER_ADDR"], port)
    gpc.init_parallel_groups()
    gpc.set_device(0)
    gpc.set_seed(1024)


def own_part(tensor):
    rank, size = gpc.get_local_rank(ParallelMode.SEQUENCE), gpc.get_world_size(ParallelMode.SEQUENCE)
    return tensor.chunk(size, dim=1)[rank].contiguous()


def main():
    config = dict(n_positions=1024, n_inner=None, embd_pdrop=0.1, attn_pdrop=0.1, resid_pdrop=0.1)
    config |= json.load(open(sys.argv[1]))
    args = dict(word.split("=") for word in sys.argv[2:])
    launch(int(args["size"]))
    dtype = getattr(torch, args.get("dtype", "float32"))
    model = Bert(config, dtype).to(dtype).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    gradients = SequenceParallelGradientHandler(model, optimizer)
    tokens = torch.zeros(int(args["batch"]), int(args["seq"]), dtype=torch.long)
    batch = dict(input_ids=own_part(tokens), labels=own_part(tokens))
    if "mask" in args:
        batch["attention_mask"] = torch.ones_like(tokens)
    for batch in [batch] * int(args.get("steps", 3)):
        batch = {name: value.to("cuda") for name, value in batch.items()}
        loss = model(**batch)
        loss.backward()
        gradients.handle_gradient()
        optimizer.step()
        optimizer.zero_grad()


main()
