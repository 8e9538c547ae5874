"""A Mixtral whose mixtures are DeepSpeed's: deepspeed.moe.layer.MoE in the place of transformers' blocks.

  highwater record --gpu h100-80 --world 4 --steps 3 --moe-load zipf:1 -- torchrun --nproc-per-node 4 \
      train_deepspeed_moe.py config.json ep=2 batch=2 seq=256 capacity=1.25

A plain loop: gradients are summed parameter by parameter, those of experts over the ranks with the same experts.
The loss is the model's plus 0.01 times the gates' auxiliary losses. Further words: noise=RSample|Jitter, residual=true, dtype=bfloat16, steps=3; without capacity= no token is dropped.
"""
import os
import sys

import torch

from train_ulysses import fake_nvcc


def expert_of(config):
    from transformers.models.mistral.modeling_mistral import MistralMLP
    return MistralMLP(config)


class Mixture(torch.nn.Module):
    def __init__(self, config, args):
        super().__init__()
        from deepspeed.moe.layer import MoE
        noise, capacity = args.get("noise"), args.get("capacity")
        self.moe = MoE(config.hidden_size, expert_of(config), num_experts=config.num_local_experts,
                       ep_size=int(args.get("ep", 1)), k=config.num_experts_per_tok,
                       capacity_factor=float(capacity or 1), drop_tokens=capacity is not None,
                       noisy_gate_policy=noise, use_residual="residual" in args)

    def forward(self, hidden_states):
        output, self.loss, _ = self.moe(hidden_states)
        return output


class WithGateLosses(torch.nn.Module):
    """The model, its mixtures replaced; its loss is the model's plus a share of the gates'."""

    def __init__(self, model, config, args):
        super().__init__()
        self.model = model
        for layer in model.model.layers:
            layer.mlp = Mixture(config, args).to(model.dtype)

    def mixtures(self):
        return [layer.mlp for layer in self.model.model.layers]

    def forward(self, **batch):
        outputs = self.model(**batch)
        outputs.loss = outputs.loss + 0.01 * sum(mixture.loss for mixture in self.mixtures())
        return outputs


def sum_gradients(model, ep):
    import torch.distributed as dist
    from deepspeed.utils import groups
    experts = groups._get_expert_data_parallel_group(f"ep_size_{ep}")
    for parameter in model.parameters():
        if parameter.grad is not None:
            dist.all_reduce(parameter.grad, group=None if getattr(parameter, "allreduce", True) else experts)


def main():
    if "CUDA_HOME" not in os.environ:
        fake_nvcc()
    import deepspeed
    from transformers import AutoConfig, AutoModelForCausalLM

    args = dict(word.split("=") for word in sys.argv[2:])
    ep = int(args.get("ep", 1))
    deepspeed.init_distributed("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    config = AutoConfig.from_pretrained(sys.argv[1])
    model = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa",
                                             dtype=getattr(torch, args.get("dtype", "bfloat16")))
    model = WithGateLosses(model, config, args).cuda()
    for mixture in model.mixtures():
        mixture.moe.set_deepspeed_parallelism()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.zeros(int(args["batch"]), int(args["seq"]), dtype=torch.long)
    batch = dict(input_ids=tokens, labels=tokens)
    for batch in [batch] * int(args.get("steps", 3)):
        batch = {name: value.to("cuda") for name, value in batch.items()}
        outputs = model(**batch)
        loss = outputs.loss
        loss.backward()
        sum_gradients(model, ep)
        optimizer.step()
        optimizer.zero_grad()


main()
