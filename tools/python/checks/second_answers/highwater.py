"""What --from makes of a case: the plan that `estimate` prints, in the fields of own/words.py, and what it says it lacks."""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

os.environ["HIGHWATER_CONFIG"] = ""  # no defaults of whoever runs this

# Files name models of which nothing is read here but their keys. Megatron's have sizes; some are of no model that is known.
STAND_INS = {"megatron": ("", "--model mixtral-8x7b"), "torchtitan": ("", "--model llama-3-8b")}
STAND_IN = ("--model llama-3.2-1b",)
ESTIMATE = ("--gpu", "h100-80", "--formula", "4n", "--format", "json")
SCRIPTS = {"trl": "trl sft", "trainer": "python run_clm.py", "megatron": "torchrun pretrain_gpt.py"}  # of lines without one
LAUNCHED = {"accelerate", "deepspeed", "axolotl", "llamafactory", "torchtitan", "megatron"}  # files: their own program is known
SECONDS = 60
AUTOCAST = {"amp-bf16": "bf16", "amp-fp16": "fp16", "bf16+amp": "16 bits"}  # whichever: the sizes are the same
WEIGHTS = {"amp-bf16": "fp32", "amp-fp16": "fp32", "bf16+amp": "bf16"}
RECOMPUTE = {"full": "full", "none": "none", "selective-attention": "selective"}  # in Megatron's words


def source_of(case, folder):
    """The file, or the launch line."""
    for name, text in case["files"].items():
        (folder / name).write_text(text)
    if case["program"] in LAUNCHED and case["files"] or "train.sh" in case["files"]:
        return next(iter(case["files"]))
    return f"{case.get('script', SCRIPTS[case['program']])} {shlex.join(case['argv'])}"


def run(highwater, words, folder):
    done = subprocess.run([str(highwater), *words], cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    return done.returncode, done.stdout, done.stderr


def lacking(table):
    """Keys that --print-options lists as not supported, with the sentence."""
    rows = [re.split(r"\s{2,}", line.strip()) for line in table.splitlines()]
    return {row[0]: row[-1] for row in rows if "not supported" in row}


def offload_of(plan):
    """FSDP's states are where its parameters are."""
    return "params" if plan["dp_kind"].startswith("fsdp") and plan["offload"] == "both" else plan["offload"]


def plan_meaning(plan, model):
    precision = plan["precision"]
    return {"batch": plan["batch"], "accumulation": plan["grad_accum"], "sequence": plan["seq"][0],
            "autocast": AUTOCAST.get(precision, "none"), "weights": WEIGHTS.get(precision, precision),
            "checkpointing": plan["checkpoint"] != "none", "checkpoint": plan["checkpoint"],
            "recompute": RECOMPUTE.get(plan["checkpoint"], plan["checkpoint"]), "optimizer": plan["optimizer"],
            "fused": plan["optimizer_impl"] == "fused", "clip": float(plan["grad_clip"] or 0), "strategy": plan["dp_kind"],
            "gpus": plan["dp"] * plan["tp"] * plan["pp"] * plan["cp"], "sharding": plan["strategy"], "offload": offload_of(plan), "tensor": plan["tp"], "pipeline": plan["pp"],
            "context": plan["cp"], "expert": plan["ep"], "ranks": plan["dp"], "lora": plan["lora"], "quantize": plan["quantize"]}


def answer(highwater, case, folder, ranks):
    """{"meaning", "lacks"} or {"refused"}. ranks: data-parallel ones that the program's own answer has; None: it is silent."""
    folder = Path(folder)
    source = source_of(case, folder)
    degree = ["--dp", str(ranks)] if ranks else []
    try:
        for model in STAND_INS.get(case["program"], STAND_IN):
            more = [*degree, *model.split()]
            code, text, error = run(highwater, ["estimate", "--from", source, *more, *ESTIMATE], folder)
            if code == 0:
                break
        if code != 0:
            return {"refused": error.strip().split("\n")[-1].removeprefix("highwater: ")[:400]}
        table = run(highwater, ["simulate", "--from", source, *more, "--print-options"], folder)[1]
    except subprocess.TimeoutExpired:
        return {"refused": f"no answer in {SECONDS} s"}
    return {"meaning": plan_meaning(**{part: json.loads(text)[part] for part in ("plan", "model")}), "lacks": lacking(table)}
