"""Plans that are drawn as option words, a row for each strategy and loop; --engine torch writes their scripts.

A row returns words of `simulate` beside model, batch, seq and gpu. What a row may say is what the engine's readers
(tools/python/engine/highwater_engine/readers) take together with the model; the rest is refused, and listed so.
"""

from .families import LINEAR_TARGETS

TORCH_OPTIMIZERS = ("sgd", "sgd-momentum", "adam", "adamw", "rmsprop", "adagrad", "adafactor", "nadam", "radam", "adamax",
                    "adadelta", "asgd", "rprop", "muon")
PACKAGED_OPTIMIZERS = ("adamw-8bit", "adamw-32bit", "paged-adamw-8bit", "paged-adamw-32bit", "lion-8bit", "lion-32bit",
                       "ademamix-8bit", "ademamix-32bit", "rmsprop-8bit", "sgd-8bit", "adagrad-8bit", "lamb-32bit",
                       "lars-32bit", "adafactor-hf", "lion", "stable-adamw", "schedule-free-adamw", "schedule-free-radam",
                       "schedule-free-sgd", "galore-adamw", "galore-adafactor", "apollo-adamw", "came", "grokadamw", "lomo",
                       "adalomo")
TRAINER_OPTIMIZERS = ("sgd", "rmsprop", "adagrad", "adafactor-hf", "adamw-8bit", "paged-adamw-32bit", "paged-adamw-8bit",
                      "lion-32bit", "lion-8bit", "paged-lion-8bit", "ademamix-32bit", "rmsprop-8bit", "stable-adamw",
                      "schedule-free-adamw", "galore-adamw", "galore-adafactor", "apollo-adamw", "grokadamw", "lomo", "adalomo")
IMPLEMENTATIONS = ("foreach", "fused", "loop")  # of torch's Adam and AdamW
RANKS = (2, 4, 8)


def maybe(rng, share, *words):
    """These words, or none. A value that is a tuple is drawn from."""
    drawn = [str(rng.choice(word)) if isinstance(word, tuple) else str(word) for word in words]
    return drawn if rng.random() < share else []


def one(rng, name, *values):
    return [name, str(rng.choice(values))]


def without(words, name):
    """Drops the option and, if it has one, its value."""
    if name not in words:
        return words
    at = words.index(name)
    ends = at + 1 if at + 1 == len(words) or words[at + 1].startswith("--") else at + 2
    return words[:at] + words[ends:]


def fitting(words, family):
    """Without what says nothing beside the rest, or what the rest refuses; PEFT is told the layers that it does not know."""
    if "--lora" in words:
        words = without(words, "--param-groups")
        if "--lora-targets" not in words and family not in LINEAR_TARGETS:
            words = [*words, "--lora-targets", "all-linear"]
    if "--dp" in words:
        words = without(words, "--dora")
    if "--tp" in words:
        words = without(words, "--grad-clip")
    return words if "--checkpoint" in words else without(words, "--checkpoint-impl")


def sharded_types(rng):
    """The types of FSDP's mixed precision, or none."""
    return rng.choice([[], ["--param-dtype", "bf16"], ["--param-dtype", "bf16", "--reduce-dtype", "fp32"],
                       ["--param-dtype", "bf16", "--reduce-dtype", "bf16"]])


def steps(rng):
    """What all loops share."""
    return [*maybe(rng, 0.35, "--checkpoint", "full"), *maybe(rng, 0.3, "--grad-accum", (2, 3, 4)),
            *maybe(rng, 0.3, "--grad-clip", 1)]


def adapters(rng):
    return ["--lora", str(rng.choice((4, 8, 16, 64))), *maybe(rng, 0.4, "--lora-targets", "all-linear"),
            *maybe(rng, 0.3, "--lora-dropout", 0.05), *maybe(rng, 0.15, "--dora")]


def of_loop(rng):
    """What a plain loop varies."""
    return [*one(rng, "--framework", "hf", "torch"), *steps(rng), *maybe(rng, 0.2, "--attention", "eager"),
            *maybe(rng, 0.2, "--attention-mask", "full"), *maybe(rng, 0.15, "--zero-grad-at", "start"),
            *maybe(rng, 0.1, "--empty-cache-every-step"), *maybe(rng, 0.1, "--param-groups", 2)]


def precision(rng):
    return one(rng, "--precision", "fp32", "bf16", "fp16", "amp-bf16", "amp-fp16")


def alone(rng):
    return [*of_loop(rng), *precision(rng), *maybe(rng, 0.4, "--optimizer", TORCH_OPTIMIZERS[:7]),
            *maybe(rng, 0.1, "--offload", "activations"), *one(rng, "--init", "cpu", "device"),
            *maybe(rng, 0.15, "--checkpoint-impl", ("reentrant", "nonreentrant"))]


def ddp(rng):
    return [*of_loop(rng), *precision(rng), *one(rng, "--dp", *RANKS), *maybe(rng, 0.3, "--bucket-cap-mb", (1, 10, 50)),
            *maybe(rng, 0.3, "--bucket-view"), *maybe(rng, 0.2, "--static-graph"),
            *maybe(rng, 0.2, "--find-unused-parameters"), *maybe(rng, 0.2, "--no-sync")]


def fsdp1(rng):
    return [*of_loop(rng), *one(rng, "--dp", *RANKS), "--dp-kind", "fsdp1", *sharded_types(rng),
            *maybe(rng, 0.4, "--strategy", ("shard_grad_op", "no_shard")),
            *maybe(rng, 0.3, "--backward-prefetch", ("pre", "post", "none")), *maybe(rng, 0.2, "--forward-prefetch"),
            *maybe(rng, 0.2, "--limit-all-gathers", "false"), *maybe(rng, 0.2, "--use-orig-params", "false"),
            *maybe(rng, 0.2, "--offload", "params"), *maybe(rng, 0.2, "--lora", (8, 16))]


def fsdp2(rng):
    ranks = rng.choice(RANKS)
    return [*of_loop(rng), "--dp", str(ranks), "--dp-kind", "fsdp2", *sharded_types(rng),
            *(["--dp-replicate", "2"] if ranks > 2 and rng.random() < 0.25 else []),
            *maybe(rng, 0.3, "--reshard", ("never", "all")), *maybe(rng, 0.2, "--offload", "params"),
            *maybe(rng, 0.25, "--lora", (8, 16))]


def tensor(rng):
    beside = ["--dp", "2", "--dp-kind", "fsdp2", *sharded_types(rng)]
    return [*steps(rng), *one(rng, "--tp", 2, 4), "--tp-kind", "dtensor",
            *(beside if rng.random() < 0.3 else one(rng, "--precision", "fp32", "bf16"))]


def context(rng):
    return [*steps(rng), *one(rng, "--cp", 2, 4), *one(rng, "--dp", 1, 2), "--dp-kind", "fsdp2", *sharded_types(rng)]


def deepspeed(rng):
    stage = rng.choice(("zero1", "zero2", "zero3"))
    hosts = ("optimizer", "params", "both") if stage == "zero3" else ("optimizer",)
    return ["--framework", "deepspeed", *one(rng, "--dp", *RANKS), "--dp-kind", stage,
            *one(rng, "--precision", "bf16", "bf16", "fp16", "fp32"), *steps(rng), *maybe(rng, 0.3, "--offload", hosts),
            *maybe(rng, 0.3, "--overlap-comm", ("true", "false")), *maybe(rng, 0.3, "--reduce-bucket-size", (1000000, 50000000)),
            *maybe(rng, 0.2, "--contiguous-gradients", "false")]


def deepspeed_adapters(rng):
    return [*deepspeed(rng), *adapters(rng)]


def adapted(rng):
    return [*of_loop(rng), *one(rng, "--precision", "fp32", "bf16", "amp-bf16", "bf16+amp"), *adapters(rng),
            *maybe(rng, 0.3, "--dp", RANKS)]


def quantised(rng):
    form = rng.choice(("nf4", "nf4", "fp4", "int8"))
    nested = [*maybe(rng, 0.6, "--double-quant"), *maybe(rng, 0.2, "--quant-compute-dtype", ("bf16", "fp16", "fp32")),
              *maybe(rng, 0.2, "--quant-storage", ("bf16", "fp16"))] if form != "int8" else []
    loop = rng.choice((["--framework", "hf", "--precision", "bf16"], ["--framework", "hf", "--precision", "fp16"],
                       ["--framework", "hf", "--precision", "amp-bf16"],
                       ["--framework", "trainer", "--precision", "bf16+amp"], ["--framework", "trl-sft"]))
    return [*loop, *steps(rng), *adapters(rng), "--quantize", form, *nested, *maybe(rng, 0.3, "--prepare-kbit", "false")]


def optimizers(rng):
    plain = rng.random() < 0.5
    kind = rng.choice(TORCH_OPTIMIZERS if plain else PACKAGED_OPTIMIZERS)
    made = maybe(rng, 0.5, "--optimizer-impl", IMPLEMENTATIONS) if kind in ("adam", "adamw") else []
    return [*one(rng, "--precision", "fp32", "bf16", "amp-bf16"), *steps(rng), "--optimizer", kind, *made]


def trainer(rng):
    spread = rng.choice(([], [], ["--dp", str(rng.choice(RANKS))], ["--dp", str(rng.choice(RANKS)), "--dp-kind", "fsdp2"]))
    return ["--framework", "trainer", *rng.choice((["--bf16"], ["--fp16"], ["--precision", "bf16"],
                                                   ["--precision", "fp32"], ["--precision", "bf16+amp"])),
            *steps(rng), *spread, *maybe(rng, 0.3, "--attention-mask", "full"),
            *(maybe(rng, 0.4, "--optimizer", TRAINER_OPTIMIZERS) if "fsdp2" not in spread else [])]


def trainer_adapters(rng):
    return ["--framework", "trainer", *rng.choice((["--bf16"], ["--precision", "bf16"], ["--precision", "bf16+amp"])),
            *steps(rng), *adapters(rng), *maybe(rng, 0.3, "--dp", RANKS)]


def sft(rng):
    return ["--framework", "trl-sft", *rng.choice(([], ["--precision", "bf16"], ["--precision", "bf16+amp"])),
            *maybe(rng, 0.4, "--checkpoint", "none"), *maybe(rng, 0.3, "--grad-accum", (2, 3)),
            *(adapters(rng) if rng.random() < 0.5 else []), *maybe(rng, 0.3, "--dp", RANKS)]


def accelerate(rng):
    return ["--framework", "accelerate-fsdp2", *one(rng, "--dp", *RANKS), *steps(rng), *maybe(rng, 0.3, "--init", "cpu"),
            *maybe(rng, 0.3, "--reshard", "never"), *maybe(rng, 0.2, "--cp", 2), *maybe(rng, 0.2, "--lora", (8, 16))]


def torchtitan(rng):
    return ["--framework", "torchtitan", *maybe(rng, 0.6, "--dp", RANKS), *one(rng, "--checkpoint", "full", "none", "selective-op"),
            *maybe(rng, 0.3, "--grad-accum", 2), *maybe(rng, 0.2, "--loss", "flat")]


def experts(rng):
    return [*steps(rng), "--precision", "bf16", *one(rng, "--experts", "eager", "grouped_mm", "batched_mm"),
            *maybe(rng, 0.3, "--dp", RANKS)]


def pipeline(rng):
    schedule = rng.choice((["--pp-schedule", "gpipe"], ["--pp-schedule", "1f1b"], []))
    return ["--framework", "torch", *one(rng, "--precision", "bf16", "fp32"), "--init", "cpu", "--pp", "2", "--grad-accum",
            str(rng.choice((2, 4))), *schedule, *maybe(rng, 0.3, "--dp", 2)]
