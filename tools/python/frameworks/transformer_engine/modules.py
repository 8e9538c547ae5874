#!/usr/bin/env python3
"""Trains one module of Transformer Engine for a few steps, for a recording of what it allocates.

  highwater record --gpu h100-80 --output run.pickle -- PYTHON modules.py NAME [--recipe R] [options]

PYTHON is the environment that install.py made. NAME is one of the functions below that are marked as a module;
`modules.py --list` prints them. A recipe is delayed, current, block (float8 with blocks of 128), mxfp8 or nvfp4; without one the
module runs in the precision of its weights, bf16.
"""

import argparse
import collections.abc
import contextlib

import torch
import transformer_engine.pytorch as te
from transformer_engine.common import recipe as recipes

MODULES: dict[str, collections.abc.Callable] = {}
RECIPES = {"delayed": recipes.DelayedScaling, "current": recipes.Float8CurrentScaling,
           "block": recipes.Float8BlockScaling, "mxfp8": recipes.MXFP8BlockScaling, "nvfp4": recipes.NVFP4BlockScaling}


def module(function):
    """What the function returns is called each step and gives the output whose gradient is taken."""
    MODULES[function.__name__] = function
    return function


class Step(torch.nn.Module):
    """Modules that are trained, and what a step does with them."""

    def __init__(self, forward, *modules):
        super().__init__()
        self.parts = torch.nn.ModuleList(modules)
        self.run = forward

    def forward(self):
        return self.run(*self.parts)


def hidden_states(size):
    return torch.randn(size.seq, size.batch, size.hidden, device="cuda", dtype=torch.bfloat16, requires_grad=True)


def on_hidden_states(size, made, **arguments):
    return Step(lambda part: part(hidden_states(size), **arguments), made)


@module
def linear(size):
    return on_hidden_states(size, te.Linear(size.hidden, size.ffn, bias=False, params_dtype=torch.bfloat16))


@module
def layernorm_linear(size):
    return on_hidden_states(size, te.LayerNormLinear(size.hidden, size.ffn, bias=False, normalization="RMSNorm",
                                                     params_dtype=torch.bfloat16))


@module
def layernorm_mlp(size):
    return on_hidden_states(size, te.LayerNormMLP(size.hidden, size.ffn, bias=False, normalization="RMSNorm",
                                                  activation="swiglu", params_dtype=torch.bfloat16))


@module
def rmsnorm(size):
    return on_hidden_states(size, te.RMSNorm(size.hidden, dtype=torch.bfloat16))


@module
def layernorm(size):
    return on_hidden_states(size, te.LayerNorm(size.hidden, dtype=torch.bfloat16))


def heads_of(size, number):
    return torch.randn(size.seq, size.batch, number, size.hidden // size.heads, device="cuda", dtype=torch.bfloat16,
                       requires_grad=True)


@module
def attention(size):
    """Which of its three implementations runs, the variables NVTE_FLASH_ATTN, NVTE_FUSED_ATTN and NVTE_UNFUSED_ATTN say."""
    made = te.DotProductAttention(size.heads, size.hidden // size.heads, num_gqa_groups=size.kv_heads, attention_dropout=0.0)
    return Step(lambda part: part(heads_of(size, size.heads), heads_of(size, size.kv_heads), heads_of(size, size.kv_heads),
                                  attn_mask_type="causal"), made)


@module
def grouped_linear(size):
    splits = [size.seq * size.batch // size.experts] * size.experts
    return on_hidden_states(size, te.GroupedLinear(size.experts, size.hidden, size.ffn, bias=False,
                                                   params_dtype=torch.bfloat16), m_splits=splits)


@module
def rope(size):
    frequencies = te.RotaryPositionEmbedding(size.hidden // size.heads)(size.seq).cuda()
    from transformer_engine.pytorch.attention.rope import apply_rotary_pos_emb
    return Step(lambda: apply_rotary_pos_emb(heads_of(size, size.heads), frequencies, tensor_format="sbhd", fused=True))


@module
def cross_entropy(size):
    labels = torch.zeros(size.batch, size.seq, dtype=torch.int64, device="cuda")

    def forward():
        logits = torch.randn(size.batch, size.seq, size.vocab, device="cuda", dtype=torch.bfloat16, requires_grad=True)
        return te.parallel_cross_entropy(logits, labels)

    return Step(forward)


def router_map(size):
    """Each token goes to the next experts in turn."""
    tokens = size.seq * size.batch
    routed = torch.zeros(tokens, size.experts, dtype=torch.int32)
    for choice in range(size.topk):
        routed[torch.arange(tokens), (torch.arange(tokens) + choice) % size.experts] = 1
    return routed.cuda()


@module
def permute(size):
    """Sends each token to its experts and back; the map is a mask."""
    routed = router_map(size)

    def forward():
        states = hidden_states(size).view(-1, size.hidden)
        probabilities = torch.rand(states.shape[0], size.experts, device="cuda", requires_grad=True)
        sent, _, rows = te.moe_permute_with_probs(states, probabilities, routed, states.shape[0] * size.topk)
        return te.moe_unpermute(sent, rows, merging_probs=probabilities, restore_shape=states.shape)

    return Step(forward)


@module
def permute_index(size):
    tokens = size.seq * size.batch
    chosen = (torch.arange(tokens)[:, None] + torch.arange(size.topk)) % size.experts

    def forward():
        states = hidden_states(size).view(-1, size.hidden)
        probabilities = torch.rand(tokens, size.topk, device="cuda", requires_grad=True)
        sent, rows = te.moe_permute(states, chosen.to("cuda", torch.int32), tokens * size.topk, map_type="index")
        return te.moe_unpermute(sent, rows, merging_probs=probabilities, map_type="index")

    return Step(forward)


@module
def router(size):
    """The router's three kernels: choice, scores for the auxiliary loss, the loss."""
    from transformer_engine.pytorch import router as kernels

    def forward():
        logits = torch.randn(size.seq * size.batch, size.experts, device="cuda", requires_grad=True)
        probabilities, routed = kernels.fused_topk_with_score_function(logits, size.topk, False, None, None, None, "softmax", None)
        _, scores = kernels.fused_compute_score_for_moe_aux_loss(logits, size.topk, "softmax")
        loss = kernels.fused_moe_aux_loss(scores, routed.sum(0), logits.shape[0], size.experts, size.topk, 0.01)
        return probabilities.sum() + loss

    return Step(forward)


def layer(size, **more):
    return te.TransformerLayer(size.hidden, size.ffn, size.heads, num_gqa_groups=size.kv_heads, hidden_dropout=0.0,
                               attention_dropout=0.0, normalization="RMSNorm", activation="swiglu", bias=False,
                               params_dtype=torch.bfloat16, fuse_qkv_params=True, **more)


@module
def transformer_layer(size):
    """As Llama has it: RMSNorm, SwiGLU, grouped queries, rotary positions, causal."""
    frequencies = te.RotaryPositionEmbedding(size.hidden // size.heads)(size.seq).cuda()
    layers = [layer(size, layer_number=number + 1) for number in range(size.layers)]

    def forward(*parts):
        states = hidden_states(size)
        for part in parts:
            states = part(states, rotary_pos_emb=frequencies)
        return states

    return Step(forward, *layers)


@module
def offloaded_layers(size):
    """The same layers with the activations of all but the last on the host."""
    layers = [layer(size, layer_number=number + 1) for number in range(size.layers)]
    context, synchronize = te.get_cpu_offload_context(enabled=True, num_layers=size.layers - 1, model_layers=size.layers)

    def forward(*parts):
        states = hidden_states(size)
        for part in parts:
            with context:
                states = part(states)
            states = synchronize(states)
        return states

    return Step(forward, *layers)


@module
def context_parallel(size):
    """Attention over the ranks of the run, each with its share of the tokens; a2a+p2p needs four."""
    import torch.distributed as dist
    dist.init_process_group("nccl")
    made = te.DotProductAttention(size.heads, size.hidden // size.heads, num_gqa_groups=size.kv_heads, attention_dropout=0.0)
    ranks = list(range(dist.get_world_size()))
    groups = [ranks] if size.exchange != "a2a+p2p" else [ranks[:2], ranks[::2]]  # of rank 0
    groups = [dist.new_group(group) for group in groups]
    made.set_context_parallel_group(groups[0] if len(groups) == 1 else groups, ranks, torch.cuda.Stream(), size.exchange)
    return Step(lambda part: part(heads_of(size, size.heads), heads_of(size, size.kv_heads), heads_of(size, size.kv_heads),
                                  attn_mask_type="causal"), made)


def train(size, recipe):
    quantized = te.autocast(enabled=True, recipe=recipe) if recipe else contextlib.nullcontext()
    made = te.quantized_model_init(recipe=recipe) if recipe and size.quantized_weights else contextlib.nullcontext()
    with made:
        step = MODULES[size.module](size)
    parameters = list(step.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=1e-4) if parameters else None
    for _ in range(size.steps):
        with quantized:
            output = step()
        output.backward(torch.ones_like(output))
        del output
        if optimizer is not None:
            optimizer.step()
            optimizer.zero_grad()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module", nargs="?", choices=sorted(MODULES))
    parser.add_argument("--list", action="store_true", help="print the modules' names")
    parser.add_argument("--recipe", choices=sorted(RECIPES))
    parser.add_argument("--quantized-weights", action="store_true", help="weights in the recipe's format only")
    parser.add_argument("--exchange", default="p2p", help="of context_parallel")
    for name, value in (("steps", 2), ("layers", 2), ("hidden", 1024), ("ffn", 2816), ("heads", 16), ("kv-heads", 4),
                        ("seq", 512), ("batch", 2), ("vocab", 32000), ("experts", 8), ("topk", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    return parser.parse_args()


def main():
    wanted = arguments()
    if wanted.list or wanted.module is None:
        print("\n".join(sorted(MODULES)))
        return
    train(wanted, RECIPES[wanted.recipe]() if wanted.recipe else None)


if __name__ == "__main__":
    main()
