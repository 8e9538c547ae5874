"""The vocabulary of a case: its fields with their defaults, and what follows from them."""

import random

DEFAULTS = {
    "batch": 1,
    "seq": 128,              # or a list with one length per micro-batch, or {"seed", "low", "high", "multiple"}
    "precision": "fp32",     # fp32 | bf16 | fp16 | amp-bf16 | amp-fp16
    "attention": "sdpa",     # sdpa | eager
    "sdpa_backend": None,    # None | flash | efficient | math | cudnn
    "checkpoint": "none",    # none | nonreentrant | reentrant | every2-nonreentrant | every2-reentrant
    "optimizer": "adamw",    # one of torch.optim's in workloads/facts/optimizers.json | none
    "impl": "foreach",       # default | foreach | fused | loop
    "param_groups": 1,       # 2: norms and biases without weight decay
    "grad_clip": None,
    "grad_accum": 1,
    "no_sync": False,        # DDP and FSDP: reduce only after the last micro-batch
    "steps": 3,
    "set_to_none": True,
    "zero_grad_at": "end",   # start | end
    "loss": "hf",            # hf: labels given to the model | shift: cross entropy outside | flat: unshifted
    "lora": None,            # {"r": rank}: PEFT's adapters; tools/python/frameworks/record_deepspeed.py only
    "freeze": None,          # modules that are not trained, by the last parts of their names: "wte,h.0"
    "keep_logits": False,    # hold the model's output until the next forward has returned
    "use_cache": False,
    "attention_mask": False,  # True: ones | padded: the first token of the last sequence is hidden
    "data": "to",            # to: CPU batch copied to the device | device: made on the device
    "dropout": None,         # None: the config's own
    "init": "device",        # device | cpu | meta
    "mode": "train",         # train | eval (forward without gradients)
    "dist": {"kind": "none"},  # kinds ddp, fsdp1, fsdp2, tp, fsdp2+tp; "backend": fake | nccl
    "rig": {},               # environment of a simulated device (FAKE_CUDA_...); no effect on a real one
    "alloc_conf": "",        # PYTORCH_CUDA_ALLOC_CONF
    "memory_limit_mib": None,
    "experts": None,
    "overrides": {},         # of the model's config
    "stacks": None,          # none | python | all; None: as the command line says
    "empty_cache_every_step": False,
    "teardown": True,
    "probe": None,           # of probes.py: instead of training
}

LABELS = ("id", "model", "note", "tags")  # fields without a default; all but the model are irrelevant to the run


class CaseError(Exception):
    """An invalid case; the message names it."""


def complete(case, defaults=DEFAULTS):
    """The case with every field. @raises CaseError for a field that does not exist"""
    unknown = set(case) - set(defaults) - set(LABELS)
    if unknown:
        raise CaseError(f"case {case.get('id')}: unknown fields {sorted(unknown)}; "
                        f"known ones: {', '.join(sorted({*defaults, *LABELS}))}")
    return {**defaults, **case}


def sequence_lengths(case):
    """Of every micro-batch of the run."""
    count = case["steps"] * case["grad_accum"]
    seq = case["seq"]
    if isinstance(seq, int):
        return [seq] * count
    if isinstance(seq, list):
        return [seq[i % len(seq)] for i in range(count)]
    rng = random.Random(seq["seed"])
    multiple = seq.get("multiple", 1)
    return [max(1, rng.randint(seq["low"], seq["high"]) // multiple) * multiple for _ in range(count)]


def shrunk(case):
    """The case with lengths that suit the tiny models of a self-test."""
    seq = 16 if isinstance(case["seq"], int) else [16, 12, 20]
    return {**case, "seq": seq, "batch": min(case["batch"], 2), "memory_limit_mib": None}
