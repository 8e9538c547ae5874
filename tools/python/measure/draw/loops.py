"""The training programs that are drawn, a row each: what varies, the script, how it is launched, what one types first.

A row of another framework is a Loop with those four; everything else here serves the rows of Hugging Face's stack. A row
of plans has words alone (plan_rows.py): the engine writes their scripts.
"""

import dataclasses
from collections.abc import Callable

from . import plan_models, plan_rows
from .families import FAMILIES, LINEAR_TARGETS
from .scripts import accelerate_script, plain_script, scripts, sft_script, trainer_script



@dataclasses.dataclass(frozen=True)
class Loop:
    """A row of LOOPS. A case has the fields of drawn.DRAWN, and those that `vary` returns."""
    weight: int            # how often it is drawn
    families: tuple        # that it is drawn with
    vary: Callable         # (random.Random, case) -> further fields of the case
    script: Callable       # (case) -> train.py
    command: Callable      # (case) -> what is recorded
    typed: Callable        # (case) -> the options of `simulate` beside model, batch, seq and gpu
    files: Callable = lambda case: {}  # (case) -> other files of the case: name -> text


def chosen(rng, *weighted):
    """One of (value, weight), ..."""
    values, weights = zip(*weighted)
    return rng.choices(values, weights)[0]


def torchrun(case):
    if case["ranks"] == 1:
        return ["python", "train.py"]
    return ["torchrun", "--nproc-per-node", str(case["ranks"]), "train.py"]


def drawn_lora(rng, case, share):
    return rng.choice((8, 16, 64)) if case["family"] in LINEAR_TARGETS and rng.random() < share else 0



# ------------------------------------------------------------------------------------------ plain scripts

def vary_plain(rng, case):
    sharding = chosen(rng, ("none", 10), ("ddp", 3), ("fsdp2", 2), ("fsdp1", 1))
    is_sharded = sharding in ("fsdp1", "fsdp2")
    weights, autocast = (("fp32", None) if is_sharded else
                         chosen(rng, (("bf16", None), 5), (("fp32", "bf16"), 3), (("fp32", None), 3),
                                (("fp32", "fp16"), 1)))
    lora = 0 if is_sharded else drawn_lora(rng, case, 0.15)
    return {"sharding": sharding, "ranks": 1 if sharding == "none" else rng.choice((2, 4, 8)),
            "weights": weights, "autocast": autocast, "lora": lora, "checkpoint": rng.random() < 0.25,
            "accumulate": chosen(rng, (1, 4), (2, 1), (4, 1)),
            "optimizer": "adamw" if is_sharded or lora else chosen(
                rng, ("adamw", 6), ("sgd", 1), ("sgd-momentum", 1), ("adafactor", 1), ("rmsprop", 1)),
            "clip": rng.random() < 0.4, "mask": rng.random() < 0.3}


def typed_precision(case):
    """The dtype of the model, or autocast, in the words of --precision."""
    return f"amp-{case['autocast']}" if case["autocast"] else case["weights"]


def typed_ranks(case):
    if case["sharding"] == "none":
        return []
    mixed = ["--param-dtype", "bf16", "--reduce-dtype", "fp32"] if case["sharding"] in ("fsdp1", "fsdp2") else []
    return ["--dp", str(case["ranks"]), "--dp-kind", case["sharding"], *mixed]


def typed_training(case):
    """Options that the loops share."""
    return [*(["--lora", str(case["lora"])] if case["lora"] else []),
            *(["--checkpoint", "full"] if case["checkpoint"] else []),
            *(["--grad-accum", str(case["accumulate"])] if case["accumulate"] > 1 else []),
            *(["--optimizer", case["optimizer"]] if case["optimizer"] != "adamw" else [])]


def typed_plain(case):
    return ["--framework", "hf", "--precision", typed_precision(case), *typed_ranks(case), *typed_training(case),
            *(["--grad-clip", "1"] if case["clip"] else [])]


# ------------------------------------------------------------------------------------------ Trainer, SFTTrainer

def vary_trainer(rng, case):
    sharding = chosen(rng, ("none", 8), ("ddp", 3), ("fsdp2", 2))
    is_sharded = sharding == "fsdp2"
    weights, autocast = (("fp32", "bf16") if is_sharded else
                         chosen(rng, (("fp32", "bf16"), 6), (("bf16", None), 3), (("fp32", None), 3),
                                (("fp32", "fp16"), 1)))
    lora = 0 if is_sharded else drawn_lora(rng, case, 0.25)
    return {"sharding": sharding, "ranks": 1 if sharding == "none" else rng.choice((2, 4, 8)),
            "weights": weights, "autocast": autocast, "lora": lora,
            "checkpoint": not is_sharded and rng.random() < 0.3, "accumulate": chosen(rng, (1, 4), (2, 1), (4, 1)),
            "optimizer": "adamw" if is_sharded or lora else chosen(rng, ("adamw", 8), ("sgd", 1)), "mask": rng.random() < 0.5}


def typed_trainer_precision(case):
    if case["autocast"]:
        return [f"--{case['autocast']}"]
    return ["--precision", case["weights"]]


def typed_trainer(case):
    kind = ["--dp-kind", case["sharding"]] if case["sharding"] == "fsdp2" else []
    ranks = ["--dp", str(case["ranks"]), *kind] if case["ranks"] > 1 else []
    return ["--framework", "trainer", *typed_trainer_precision(case), *ranks, *typed_training(case)]


def vary_sft(rng, case):
    sharding = chosen(rng, ("none", 4), ("ddp", 1))
    return {"sharding": sharding, "ranks": 1 if sharding == "none" else rng.choice((2, 4, 8)),
            "weights": chosen(rng, ("fp32", 3), ("bf16", 2)), "autocast": "bf16", "lora": drawn_lora(rng, case, 0.4),
            "checkpoint": rng.random() < 0.7, "accumulate": chosen(rng, (1, 3), (2, 1)), "optimizer": "adamw"}


def typed_sft(case):
    """Of checkpointing, only its absence has to be typed; autocast goes without saying."""
    kept = [] if case["checkpoint"] else ["--checkpoint", "none"]
    narrow = ["--precision", "bf16"] if case["weights"] == "bf16" else []
    ranks = ["--dp", str(case["ranks"])] if case["ranks"] > 1 else []
    return ["--framework", "trl-sft", *narrow, *ranks, *kept, *typed_training({**case, "checkpoint": False})]


def tokenizer_files(case):
    return scripts.tokenizer_files()


# ------------------------------------------------------------------------------------------ accelerate

def vary_accelerate(rng, case):
    return {"sharding": "fsdp2", "ranks": rng.choice((2, 4, 8)), "weights": "fp32", "autocast": "bf16", "lora": 0,
            "checkpoint": rng.random() < 0.3, "accumulate": chosen(rng, (1, 3), (2, 1)), "optimizer": "adamw",
            "clip": rng.random() < 0.5, "mask": rng.random() < 0.3}


def typed_accelerate(case):
    return ["--framework", "accelerate-fsdp2", "--dp", str(case["ranks"]), *typed_training(case),
            *(["--grad-clip", "1"] if case["clip"] else [])]


def fsdp_file(case):
    return scripts.fsdp_file(FAMILIES[case["family"]].block, case["ranks"])


def accelerate_launch(case):
    return ["accelerate", "launch", "--config_file", "fsdp.yaml", "train.py"]


@dataclasses.dataclass(frozen=True)
class Plans:
    """A row of LOOPS whose cases are words, which they have as `words`."""
    weight: int
    model: Callable  # (random.Random) -> name and config.json
    words: Callable  # (random.Random) -> options of `simulate`
    gpus: tuple = ()  # only these; empty: any


HOPPERS = ("h100-80", "h200")
DECODERS = tuple(name for name, family in FAMILIES.items() if family.is_decoder)
LOOPS = {
    "hf": Loop(6, tuple(FAMILIES), vary_plain, plain_script, torchrun, typed_plain),
    "trainer": Loop(6, tuple(FAMILIES), vary_trainer, trainer_script, torchrun, typed_trainer),
    "trl-sft": Loop(4, DECODERS, vary_sft, sft_script, torchrun, typed_sft, tokenizer_files),
    "accelerate-fsdp2": Loop(3, DECODERS, vary_accelerate, accelerate_script, accelerate_launch, typed_accelerate,
                             fsdp_file),
    "plan-alone": Plans(3, plan_models.any_decoder, plan_rows.alone),
    "plan-ddp": Plans(2, plan_models.any_decoder, plan_rows.ddp),
    "plan-fsdp1": Plans(2, plan_models.any_decoder, plan_rows.fsdp1),
    "plan-fsdp2": Plans(3, plan_models.any_decoder, plan_rows.fsdp2),
    "plan-tensor": Plans(2, plan_models.splittable, plan_rows.tensor),
    "plan-context": Plans(1, plan_models.splittable, plan_rows.context),
    "plan-deepspeed": Plans(4, plan_models.any_decoder, plan_rows.deepspeed),
    "plan-deepspeed-lora": Plans(1, plan_models.any_decoder, plan_rows.deepspeed_adapters),
    "plan-lora": Plans(3, plan_models.any_decoder, plan_rows.adapted),
    "plan-quantised": Plans(3, plan_models.any_decoder, plan_rows.quantised),
    "plan-optimizers": Plans(4, plan_models.any_decoder, plan_rows.optimizers),
    "plan-trainer": Plans(4, plan_models.any_decoder, plan_rows.trainer),
    "plan-trainer-lora": Plans(2, plan_models.any_decoder, plan_rows.trainer_adapters),
    "plan-sft": Plans(3, plan_models.any_decoder, plan_rows.sft),
    "plan-accelerate": Plans(2, plan_models.any_decoder, plan_rows.accelerate),
    "plan-experts": Plans(2, plan_models.mixture, plan_rows.experts, HOPPERS),
    "plan-pipeline": Plans(1, plan_models.splittable, plan_rows.pipeline),
    "plan-torchtitan": Plans(1, plan_models.llama, plan_rows.torchtitan, ("h100-80",)),
}
