"""Models as Python objects: a module of transformers, another with its batch, and the function that makes it."""
import dataclasses
import json
import sys

import torch

import highwater as hw


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = torch.nn.Linear(width, width)

    def forward(self, x):
        return x + self.inner(x)


def make(batch):
    return torch.nn.Sequential(*(Block(1024) for _ in range(4))), torch.randn(batch, 1024)


def peak(model, **options):
    answer = hw.simulate(model=model, gpu="h100-80", python=sys.executable, engine="torch", **options)
    return dataclasses.asdict(answer.steady_peak)


def refusal(model):
    try:
        hw.simulate(model=model)
    except hw.InputError as error:
        return str(error)


def main():
    from transformers import AutoConfig, AutoModelForCausalLM
    config = AutoConfig.for_model("llama", num_hidden_layers=2, hidden_size=256, intermediate_size=512,
                                  num_attention_heads=4, vocab_size=8192)
    config.save_pretrained("llama")
    sys.modules["cloudpickle"] = None  # as where it is not installed
    print(json.dumps({
        "module of transformers": peak(AutoModelForCausalLM.from_config(config), batch=2, seq=128),
        "its config.json": peak("llama/config.json", batch=2, seq=128),
        "module": peak(make(64)), "function": peak(make, batch=64),
        "number": refusal(3), "lambda": refusal(lambda: make(1))}))


if __name__ == "__main__":
    main()
