#!/usr/bin/env python3
"""Records training under DeepSpeed's engine, as tools/python/measure does for PyTorch's own wrappers.

  record_deepspeed.py record --cases cases.json --out DIR [options of measure record]

Cases have the fields of measure; "dist" is
  {"kind": "deepspeed", "world": N, "stage": 0|1|2|3,
   "zero": {...}, further members of DeepSpeed's "zero_optimization" (numbers are elements),
   "engine": {...}, further members of the configuration}
"lora": {"r": R} is the rank of PEFT's adapters, for the layers that it chooses by itself.
grad_clip and grad_accum become gradient_clipping and gradient_accumulation_steps, the precisions
bf16 and fp16 DeepSpeed's own. Optimizer "adamw" with impl "deepspeed" is DeepSpeed's FusedAdam (or
CPUAdam), whose kernels compute nothing here; other implementations are torch.optim's.

The engine has no separate clip or zero_grad: the phases of a step are data, forward, backward and
optimizer_step. Needs DeepSpeed and what it imports on PYTHONPATH, but no compiled operators.
"""

import gc
import os
import sys
import types
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from measure import models, optimizers, process_group  # noqa: E402
from measure.case_fields import sequence_lengths  # noqa: E402
from measure.command import record_main  # noqa: E402
from measure.plain_decoder import PlainDecoder  # noqa: E402
from measure.recorder import block_labels  # noqa: E402
from measure.training import causal_loss, model_dtype, note_tensors  # noqa: E402


class StorageHandle:
    """The handle of async_io, which moves bytes between a file and host memory: none are moved here.

    Its locked tensors are plain host memory outside PyTorch's allocators (deepspeed 0.19.8
    csrc/pin_memory/deepspeed_pin_tensor.cpp: page-aligned, mlock).
    """
    locked: set[int] = set()

    def __init__(self, *args, **kwargs):
        self.pending = 0

    def submit(self, *args):
        self.pending += 1
        return 0

    async_pread = async_pwrite = submit

    def wait(self):
        done, self.pending = self.pending, 0
        return done

    def new_cpu_locked_tensor(self, elements, example):
        import torch
        tensor = torch.empty(int(elements), dtype=example.dtype, device="cpu")
        self.locked.add(tensor.untyped_storage().data_ptr())
        return tensor

    def is_pinned(self, tensor):
        return tensor.untyped_storage().data_ptr() in self.locked or tensor.is_pinned()


def stub_compiled_operators():
    """DeepSpeed asks nvcc for its version and compiles Adam and async_io; none allocates device memory."""
    from deepspeed.ops.op_builder import builder
    builder.installed_cuda_version = lambda name="": (12, 4)
    import deepspeed.ops.op_builder as builders

    def nothing(*args):
        return None

    fused = types.SimpleNamespace(multi_tensor_adam=nothing)
    host = types.SimpleNamespace(create_adam=nothing, destroy_adam=nothing, adam_update=nothing)
    builders.FusedAdamBuilder.load = lambda self, verbose=True: fused
    builders.CPUAdamBuilder.load = lambda self, verbose=True: host
    storage = types.SimpleNamespace(aio_handle=StorageHandle)
    builders.AsyncIOBuilder.load = lambda self, verbose=True: storage


def answer_that_norms_are_positive(torch):
    """BF16_Optimizer of 0.16.4 asserts it, and copies from a device that computes nothing are zeros."""
    from deepspeed.runtime import bf16_optimizer
    step = bf16_optimizer.BF16_Optimizer.step

    def step_with_answers(self, *args, **kwargs):
        ask = torch.Tensor.__bool__
        torch.Tensor.__bool__ = lambda tensor: ask(tensor) is not None
        try:
            return step(self, *args, **kwargs)
        finally:
            torch.Tensor.__bool__ = ask

    bf16_optimizer.BF16_Optimizer.step = step_with_answers


def fake_nvcc():
    """Importing deepspeed runs $CUDA_HOME/bin/nvcc -V."""
    import tempfile
    home = Path(tempfile.mkdtemp())
    (home / "bin").mkdir()
    compiler = home / "bin" / "nvcc"
    compiler.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 12.4, V12.4.131'\n")
    compiler.chmod(0o755)
    os.environ["CUDA_HOME"] = str(home)


def configuration(case):
    dist = case["dist"]
    zero = {"stage": dist["stage"], **dist.get("zero", {})}
    config = {"train_micro_batch_size_per_gpu": case["batch"], "gradient_accumulation_steps": case["grad_accum"],
              "zero_allow_untested_optimizer": True, "zero_force_ds_cpu_optimizer": False,
              "zero_optimization": zero, "steps_per_print": None}
    if case["precision"] in ("bf16", "fp16"):
        config[case["precision"]] = {"enabled": True}
    if case["grad_clip"]:
        config["gradient_clipping"] = case["grad_clip"]
    if case["impl"] == "deepspeed":
        config["optimizer"] = {"type": "AdamW", "params": {"lr": 1e-4}}
    config.update(dist.get("engine", {}))
    return config


def start(torch, world):
    for name, value in (("RANK", 0), ("LOCAL_RANK", 0), ("WORLD_SIZE", world), ("LOCAL_SIZE", world)):
        os.environ[name] = str(value)
    process_group.start_group(torch, "nccl", world)
    fake_nvcc()
    import deepspeed
    stub_compiled_operators()
    answer_that_norms_are_positive(torch)
    deepspeed.logger.setLevel("WARNING")
    return deepspeed


def adapted(case, model):
    if not case["lora"]:
        return model
    from peft import LoraConfig, get_peft_model
    return get_peft_model(model, LoraConfig(r=case["lora"]["r"], task_type="CAUSAL_LM"))


def make_model(case, deepspeed, config, dtype, tiny, device):
    """With "zero_init" every module's parameters are partitioned as soon as it is built."""
    if case["dist"].get("zero_init"):
        with deepspeed.zero.Init(config_dict_or_path=config):
            return models.build(case, "cpu", dtype, tiny)
    where = {"device": device}.get(case["init"], case["init"])
    return models.build(case, where, dtype, tiny)


def train(run):
    torch, case, device, rec, report = run.torch, run.case, run.device, run.recorder, run.report
    dist = case["dist"]
    dtype = model_dtype(torch, case)
    deepspeed = start(torch, dist["world"])
    config = configuration(case)
    report["backend"], report["deepspeed"], report["deepspeed_config"] = "nccl", deepspeed.__version__, config
    rec.mark("group")
    model, report["model"] = make_model(case, deepspeed, config, dtype, run.tiny, device)
    model = adapted(case, model)
    rec.mark("model")
    models.set_recompute(model, case["checkpoint"])
    model.train()
    shape_of = {name: list(getattr(p, "ds_shape", p.shape)) for name, p in model.named_parameters()}
    optimizer = None if case["impl"] == "deepspeed" else optimizers.make_optimizer(torch, case, model)
    runner, optimizer, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, config=config,
                                                   dist_init_required=False)
    rec.mark("wrap")
    note_tensors(run, model.named_parameters(), model.named_buffers())
    report["parameters"] = [[name, shape_of[name], *more] for name, _, *more in report["parameters"]]
    states = getattr(optimizer, "optimizer", optimizer)  # stage 0 in fp32 wraps nothing
    rec.label(block_labels(model, states))
    lengths = sequence_lengths(case)
    report["sequence_lengths"] = lengths
    vocab = getattr(model, "vocab", None) or model.config.vocab_size
    generator = torch.Generator().manual_seed(1)
    own_loss = case["loss"] != "hf" or isinstance(model, PlainDecoder)
    accum, batch = case["grad_accum"], case["batch"]
    for step in range(case["steps"]):
        rec.reset_peaks()
        rec.mark("step_begin", step)
        for micro in range(accum):
            shape = (batch, lengths[step * accum + micro])
            on_host = torch.randint(0, vocab, shape, generator=generator)
            tokens = on_host.to(device)
            labels = on_host.clone().to(device)
            extra = {"attention_mask": torch.ones(shape, dtype=torch.long).to(device)} \
                if case["attention_mask"] else {}
            rec.mark("data", step, micro, shape=list(shape))
            rec.label((("input", tokens), ("input", labels), *(("input", t) for t in extra.values())))
            if isinstance(model, PlainDecoder):
                outputs = runner(tokens)
                loss = causal_loss(torch, outputs, labels, case["loss"])
            elif own_loss:
                outputs = runner(tokens, **extra).logits
                loss = causal_loss(torch, outputs, labels, case["loss"])
            elif case["keep_logits"]:
                outputs = runner(input_ids=tokens, labels=labels, **extra)
                loss = outputs.loss
            else:
                loss = runner(input_ids=tokens, labels=labels, **extra).loss
            if own_loss and not case["keep_logits"]:
                del outputs
            rec.mark("forward", step, micro)
            runner.backward(loss)
            rec.mark("backward", step, micro)
            rec.label(block_labels(model, states))
            runner.step()  # does nothing but count before the last micro-batch
        rec.mark("optimizer_step", step)
        rec.label(block_labels(model, states))
        if case["empty_cache_every_step"] and rec.live:
            torch.cuda.empty_cache()
            rec.mark("empty_cache", step)
        rec.mark("step_end", step)
    report["_snapshot"] = rec.snapshot()
    report["loss"] = float(loss.detach().cpu())
    if case["teardown"]:
        del tokens, labels, extra, loss, runner, optimizer, states, model
        outputs = None
        gc.collect()
        rec.mark("drop_model", after_snapshot=True)


if __name__ == "__main__":
    sys.exit(record_main(train, Path(__file__).resolve(), __doc__))
