"""Whose loop runs a script, by the functions that are running when its optimizer steps; and the releases of all packages."""
import os
import sys

from .frames import variables

# The innermost that is found counts: TRL's trainer is transformers', which steps through accelerate.
_STEPPING = (
    ("trl", os.path.join("trl", "trainer", "")),
    ("trainer", os.path.join("transformers", "trainer.py")),
    ("torchtune", os.path.join("recipes", "full_finetune")),
    ("torchtitan", os.path.join("torchtitan", "")),
    ("lightning", os.path.join("lightning", "")),
    ("deepspeed", os.path.join("deepspeed", "runtime", "engine.py")),
    ("megatron", os.path.join("megatron", "")),
    ("accelerate", os.path.join("accelerate", "optimizer.py")),
)

_PACKAGES = ("torch", "transformers", "accelerate", "peft", "trl", "deepspeed", "torchtitan", "torchtune", "lightning",
             "megatron-core", "bitsandbytes", "torchao")


def running():
    """The loop among the frames of this thread: one of the names above, a trainer's class for TRL's, or "plain"."""
    files, found = _looked_at()
    trainer = type(found).__mro__ if found is not None else None
    if trainer and any(kind.__module__.startswith("trl.") for kind in trainer):
        return next(kind.__name__ for kind in trainer if kind.__module__.startswith("trl."))
    return next((name for name, part in _STEPPING if any(part in file for file in files)), "plain")


def settings(host_value):
    """What a trainer of TRL is told about its batches and has beside its model; None for other loops.

    host_value: (tensor) -> what a tensor holds, on the host, or None
    """
    trainer = _looked_at()[1]
    if not any(kind.__module__.startswith("trl.") for kind in type(trainer).__mro__):
        return None
    args = trainer.args
    return {"batch": args.per_device_train_batch_size, "accumulation": args.gradient_accumulation_steps,
            "completion": getattr(args, "max_completion_length", None), "answer": _longest_answer(host_value),
            "reference": getattr(trainer, "ref_model", None) is not None, "generates_by_vllm": bool(getattr(args, "use_vllm", False))}


def _longest_answer(host_value):
    """Tokens of the longest answer in the last batch, by the mask that TRL's collators make; None where there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.endswith(_STEPPING[1][1]):
            inputs = variables(frame, "inputs")[0]
            mask = inputs.get("completion_mask") if isinstance(inputs, dict) else None
            if mask is not None and mask.dim() == 2:
                held = mask if mask.is_cpu else host_value(mask)
                return None if held is None else int((held != 0).sum(-1).max())
        frame = frame.f_back
    return None


def label_smoothing():
    """Of transformers' Trainer, which computes that loss outside of the model; 0 elsewhere."""
    return float(getattr(getattr(_looked_at()[1], "args", None), "label_smoothing_factor", 0) or 0)


def _looked_at():
    """(files of the functions that are running, transformers' Trainer or None)"""
    files, trainer = [], None
    frame = sys._getframe(1)
    while frame is not None:
        files.append(frame.f_code.co_filename)
        if frame.f_code.co_filename.endswith(_STEPPING[1][1]):
            trainer = variables(frame, "self")[0]
        frame = frame.f_back
    return files, trainer


def releases(torch):
    from importlib import metadata
    found = {"torch": str(torch.__version__)}
    for package in _PACKAGES[1:]:
        if package.replace("-", ".") in sys.modules or package.partition("-")[0] in sys.modules:
            try:
                found[package] = metadata.version(package)
            except metadata.PackageNotFoundError:
                pass
    return found
