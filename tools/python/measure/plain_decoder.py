"""A compact decoder in the LLaMA shape, whose module layout suits PyTorch's tensor-parallel plans."""

import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    """Root-mean-square norm computed in fp32, as a chain of elementwise operations."""

    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        wide = x.float()
        scaled = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * scaled.type_as(x)


def _rotate(x, cos, sin):
    left, right = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-right, left), dim=-1) * sin


class PlainAttention(nn.Module):
    def __init__(self, dim, heads, kv_heads, attention):
        super().__init__()
        self.head_dim = dim // heads
        self.groups = heads // kv_heads
        self.attention = attention
        self.wq = nn.Linear(dim, heads * self.head_dim, bias=False)
        self.wk = nn.Linear(dim, kv_heads * self.head_dim, bias=False)
        self.wv = nn.Linear(dim, kv_heads * self.head_dim, bias=False)
        self.wo = nn.Linear(heads * self.head_dim, dim, bias=False)

    def _repeat(self, x):
        if self.groups == 1:
            return x
        b, h, s, d = x.shape
        return x[:, :, None].expand(b, h, self.groups, s, d).reshape(b, h * self.groups, s, d)

    def forward(self, x, cos, sin):
        b, s, _ = x.shape
        q = self.wq(x).view(b, s, -1, self.head_dim).transpose(1, 2)
        k = self.wk(x).view(b, s, -1, self.head_dim).transpose(1, 2)
        v = self.wv(x).view(b, s, -1, self.head_dim).transpose(1, 2)
        q, k = _rotate(q, cos, sin), _rotate(k, cos, sin)
        k, v = self._repeat(k), self._repeat(v)
        if self.attention == "sdpa":
            out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = torch.matmul(q, k.transpose(2, 3)) * self.head_dim**-0.5
            hidden = torch.ones(s, s, dtype=torch.bool, device=x.device).triu(1)
            scores = scores.masked_fill(hidden, float("-inf"))
            out = torch.matmul(F.softmax(scores, dim=-1, dtype=torch.float32).type_as(q), v)
        return self.wo(out.transpose(1, 2).reshape(b, s, -1))


class PlainMLP(nn.Module):
    def __init__(self, dim, ffn):
        super().__init__()
        self.w1 = nn.Linear(dim, ffn, bias=False)
        self.w3 = nn.Linear(dim, ffn, bias=False)
        self.w2 = nn.Linear(ffn, dim, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class PlainBlock(nn.Module):
    def __init__(self, dim, ffn, heads, kv_heads, attention):
        super().__init__()
        self.attention_norm = RMSNorm(dim)
        self.attention = PlainAttention(dim, heads, kv_heads, attention)
        self.ffn_norm = RMSNorm(dim)
        self.feed_forward = PlainMLP(dim, ffn)
        self.recompute = None  # None, "reentrant" or "nonreentrant"

    def _body(self, x, cos, sin):
        h = x + self.attention(self.attention_norm(x), cos, sin)
        return h + self.feed_forward(self.ffn_norm(h))

    def forward(self, x, cos, sin):
        if self.recompute and self.training:
            from torch.utils.checkpoint import checkpoint
            return checkpoint(self._body, x, cos, sin, use_reentrant=self.recompute == "reentrant")
        return self._body(x, cos, sin)


class PlainDecoder(nn.Module):
    """Decoder-only transformer: embedding, blocks, norm, untied output projection."""

    def __init__(self, vocab, dim, ffn, layers, heads, kv_heads, attention="sdpa", theta=500000.0):
        super().__init__()
        self.vocab = vocab
        self.rope = (dim // heads, theta)
        self.tok_embeddings = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(PlainBlock(dim, ffn, heads, kv_heads, attention) for _ in range(layers))
        self.norm = RMSNorm(dim)
        self.output = nn.Linear(dim, vocab, bias=False)
        for p in self.parameters():
            if p.dim() > 1 and not p.is_meta:
                nn.init.normal_(p, std=0.02)

    def forward(self, tokens):
        h = self.tok_embeddings(tokens)
        width, theta = self.rope
        step = torch.arange(0, width, 2, device=tokens.device, dtype=torch.float32) / width
        angle = torch.outer(torch.arange(tokens.shape[1], device=tokens.device).float(), theta ** -step)
        angle = torch.cat((angle, angle), dim=-1)
        cos, sin = angle.cos().to(h.dtype), angle.sin().to(h.dtype)
        for layer in self.layers:
            h = layer(h, cos, sin)
        return self.output(self.norm(h))
