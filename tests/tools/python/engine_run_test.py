"""--engine both with a real PyTorch: the model and PyTorch make the same requests; models without a family are carried out.

Run with the folder of the program; HIGHWATER_TORCH_PYTHON names the Python, without it the test is skipped.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SKIPPED = 4

CONFIGS = {
    "gpt2": {"model_type": "gpt2", "n_layer": 2, "n_embd": 256, "n_head": 4},
    "llama": {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 256, "intermediate_size": 512,
              "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 8192},
    "qwen2": {"model_type": "qwen2", "num_hidden_layers": 2, "hidden_size": 256, "intermediate_size": 512,
              "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 8192},
    "persimmon": {"model_type": "persimmon", "num_hidden_layers": 2, "hidden_size": 256, "intermediate_size": 512,
             "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 8192, "pad_token_id": 0},
}

CONFIGS["mixtral"] = {**CONFIGS["llama"], "model_type": "mixtral", "num_local_experts": 4}
CONFIGS["clip"] = {"model_type": "clip", "text_config": {"num_hidden_layers": 2}, "vision_config": {"num_hidden_layers": 2}}

NET = """
import torch

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(64, 64)

    def forward(self, x):
        return x + self.inner(x)

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block() for _ in range(3))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x

def make(batch):
    return Net(), {"x": torch.randn(batch, 64)}

def with_loss():
    return Net(), torch.randn(4, 64), lambda outputs, batch: outputs.pow(2).mean()
"""

EQUAL = (
    ("gpt2", "--framework hf"),
    ("gpt2", "--framework hf --precision amp-bf16 --grad-clip 1"),
    ("llama", "--framework hf --precision bf16 --checkpoint full"),
    ("llama", "--framework torch --init device --optimizer-impl fused"),
    ("qwen2", "--framework hf --precision bf16 --lora 8"),
    ("gpt2", "--framework hf --dp 8"),
    ("llama", "--framework hf --dp 8 --dp-kind fsdp2 --param-dtype bf16 --reduce-dtype fp32"),
    ("llama", "--framework hf --dp 4 --dp-kind fsdp1 --param-dtype bf16 --reduce-dtype fp32"),
    ("llama", "--framework hf --dp 8 --dp-replicate 2 --dp-kind fsdp2 --param-dtype bf16 --reduce-dtype fp32"),
    ("llama", "--framework hf --dp 4 --dp-kind fsdp2 --param-dtype bf16 --lora 8"),
    ("qwen2", "--framework hf --dp 4 --dp-kind fsdp2 --offload params --checkpoint full --param-dtype bf16"),
    ("llama", "--framework hf --tp 2 --tp-kind dtensor --precision bf16"),
    ("qwen2", "--framework accelerate-fsdp2 --dp 4 --grad-accum 2 --grad-clip 1"),
    ("llama", "--framework deepspeed --dp 4 --dp-kind zero2 --precision bf16"),
    ("llama", "--framework hf --dp 2 --cp 2 --dp-kind fsdp2 --param-dtype bf16 --reduce-dtype fp32"),
    ("llama", "--framework hf --precision bf16 --optimizer adamw-8bit"),
    ("mixtral", "--framework hf --precision bf16 --experts grouped_mm"),
)

# What a line needs beside PyTorch and transformers.
PACKAGES = {"accelerate-fsdp2": "accelerate", "deepspeed": "deepspeed", "--lora": "peft", "8bit": "bitsandbytes"}

# Trainer counts tokens and norms in tensors of a few bytes that the model leaves out; where the loss is divided, the
# model does so in the next phase.
CLOSE = (
    ("gpt2", "--framework hf --precision amp-bf16 --grad-accum 2"),
    ("qwen2", "--framework trainer --bf16"),
    ("gpt2", "--framework trainer --bf16 --dp 2 --grad-accum 2"),
)


class Engine(unittest.TestCase):
    program = ""
    python = ""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def run_line(self, *words):
        done = subprocess.run([self.program, *words, "--python", self.python], capture_output=True, text=True,
                              cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def simulate(self, model, line):
        (self.folder / "config.json").write_text(json.dumps(CONFIGS[model]))
        return json.loads(self.run_line("simulate", "--model", "config.json", "--batch", "2", "--seq", "64", "--gpu",
                                        "h100-80", "--format", "json", *line.split()))

    def can_run(self, line):
        missing = [package for word, package in PACKAGES.items() if word in line and subprocess.run(
            [self.python, "-c", f"import importlib.util, sys; sys.exit(importlib.util.find_spec('{package}') is None)"],
            check=False).returncode]
        if missing:
            print(f"not run: {line}: {self.python} has no {', '.join(missing)}")
        return not missing

    def test_the_model_and_pytorch_make_the_same_requests(self):
        for model, line in filter(lambda row: self.can_run(row[1]), EQUAL):
            with self.subTest(f"{model} {line}"):
                engines = self.simulate(model, f"{line} --engine both")["engines"]
                different = [(phase["step"], phase["phase"]) for phase in engines["phases"] if not phase["equal"]]
                self.assertEqual(different, [])

    def test_other_peaks_are_the_same_within_a_thousandth(self):
        for model, line in CLOSE:
            with self.subTest(f"{model} {line}"):
                model_peak, torch_peak = (self.simulate(model, f"{line} --engine {engine}")["steady_peak"]
                                          for engine in ("model", "torch"))
                for figure in ("allocated_bytes", "reserved_bytes"):
                    self.assertAlmostEqual(model_peak[figure] / torch_peak[figure], 1, delta=0.001)

    def test_a_model_without_a_family_is_carried_out(self):
        report = self.simulate("persimmon", "--precision bf16")
        self.assertEqual(report["plan"]["engine"], "torch")
        held = report["breakdown_at_peak"]
        for category in ("parameter", "optimizer_state", "activation"):
            self.assertGreater(held[category], 0)
        self.assertEqual([step["step"] for step in report["steps"]], [0, 1, 2])

    def report(self, model, *words):
        return self.run_line("simulate", "--model", model, "--gpu", "h100-80", *words)

    def test_text_and_images_are_fed_and_said(self):
        (self.folder / "config.json").write_text(json.dumps(CONFIGS["clip"]))
        told = self.report("config.json", "--batch", "2")
        self.assertIn("CLIPModel trained on input_ids, pixel_values; sequences of 77 tokens", told)

    def test_a_function_of_a_file_makes_the_model_and_its_batch(self):
        (self.folder / "net.py").write_text(NET)
        for function, *more in (("make", "--batch", "16"), ("with_loss",), ("make", "--batch", "2", "--dp", "2"),
                                ("make", "--batch", "2", "--dp", "2", "--dp-kind", "fsdp2")):
            with self.subTest(function, more=more):
                self.assertIn("requests made by PyTorch", self.report(f"net.py:{function}", *more))

    def test_a_script_that_fails_leaves_its_message(self):
        (self.folder / "config.json").write_text(json.dumps({**CONFIGS["persimmon"], "hidden_act": "no such function"}))
        done = subprocess.run([self.program, "simulate", "--model", "config.json", "--engine", "torch", "--python",
                               self.python], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.returncode, 3)
        self.assertIn("no such function", done.stderr)


def main():
    Engine.program = str(pathlib.Path(sys.argv[1]).resolve())
    Engine.python = os.environ.get("HIGHWATER_TORCH_PYTHON", "")
    if not Engine.python:
        print("skipped: HIGHWATER_TORCH_PYTHON names no Python with PyTorch")
        return SKIPPED
    return 0 if unittest.main(argv=[sys.argv[0], *sys.argv[2:]], exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
