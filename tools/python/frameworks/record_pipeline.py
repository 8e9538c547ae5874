#!/usr/bin/env python3
"""Records one rank of a pipeline of torch.distributed.pipelining, or one device of a model split naively.

  record_pipeline.py record --cases cases.json --out DIR [options of measure record]

A case is one of tools/python/measure; its "dist" is
  {"kind": "pp", "pp": N, "rank": R, "schedule": "gpipe" | "1f1b" | "interleaved", "chunks": C,
   "data": "ddp" | "fsdp2", "dp": D, "tp": T, and what measure knows for these kinds}
and its "grad_accum" the number of micro-batches of "batch" sequences each. Ranks are counted along tp, then dp, then pp
(torchtitan's mesh). fully_shard keeps gathered parameters after forward unless "reshard" is true (torchtitan's
apply_fsdp under pp). The other ranks do not exist: received data has no values. "init" is meta (as torchtitan does
it) or cpu.
"""

import contextlib
import copy
import sys
import types
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from measure import models, optimizers, wrappers  # noqa: E402
from measure.case_fields import sequence_lengths  # noqa: E402
from measure.command import record_main  # noqa: E402
from measure.plain_decoder import PlainDecoder  # noqa: E402
from measure.recorder import block_labels  # noqa: E402
from measure.simulated_device import RECORDER  # noqa: E402
from measure.training import causal_loss, model_dtype, note_tensors  # noqa: E402
from highwater_engine import scripts  # noqa: E402
from highwater_engine.scripts.pipeline import points  # noqa: E402


kept: list = []  # a store that only C++ refers to forgets its Python methods


def start_group(torch, rank, world):
    """Rank `rank` of NCCL's group, whose store answers for the ranks that do not exist."""
    class Store(torch.distributed.Store):
        def __init__(self):
            super().__init__()
            self.values = {}

        def set(self, key, value):
            self.values[key] = value

        def get(self, key):
            return self.values.get(key, bytes(128))

        def add(self, key, amount):
            self.values[key] = int(self.values.get(key, 0)) + amount
            return self.values[key]

        def wait(self, keys, timeout=None):
            pass

        def check(self, keys):
            return True

    kept.append(Store())
    torch.distributed.init_process_group("nccl", rank=rank, world_size=world, store=kept[0])


def announce(shape, dtype):
    """Tells the stages what the ones before them send."""
    from torch.distributed.pipelining import stage
    sys.path.append(str(RECORDER))
    from highwater_record import pipelines
    text = f"{'x'.join(map(str, shape))}:{str(dtype).removeprefix('torch.')}"
    pipelines.describe_neighbours(types.SimpleNamespace(stage_input=text), stage)


def make_stage_class(torch):
    nn = torch.nn

    class PlainStage(nn.Module):
        def __init__(self, whole, is_first, is_last, begin, end):
            super().__init__()
            self.rope = whole.rope
            self.parts = 1  # of the sequence, one of which a later stage is given
            self.tok_embeddings = whole.tok_embeddings if is_first else None
            self.layers = nn.ModuleList(list(whole.layers)[begin:end])
            self.norm = whole.norm if is_last else None
            self.output = whole.output if is_last else None

        def forward(self, tokens):
            h = self.tok_embeddings(tokens) if self.tok_embeddings else tokens
            width, theta = self.rope
            step = torch.arange(0, width, 2, device=tokens.device, dtype=torch.float32) / width
            length = tokens.shape[1] * (1 if self.tok_embeddings else self.parts)
            angle = torch.outer(torch.arange(length, device=tokens.device).float(), theta ** -step)
            angle = torch.cat((angle, angle), dim=-1)
            cos, sin = angle.cos().to(h.dtype), angle.sin().to(h.dtype)
            for layer in self.layers:
                h = layer(h, cos, sin)
            h = self.norm(h) if self.norm else h
            return self.output(h) if self.output else h

    def stage_class(model):
        from highwater_engine.scripts import stages
        if isinstance(model, PlainDecoder):
            return PlainStage
        return stages.Gpt2Stage if hasattr(model, "transformer") else stages.Stage

    return stage_class


def make_mesh(torch, dist):
    """torchtitan's ParallelDims.build_mesh: dimensions with one rank are omitted."""
    from torch.distributed.device_mesh import init_device_mesh
    sizes = {name: dist.get(name, 1) for name in ("pp", "dp", "tp") if dist.get(name, 1) > 1}
    return init_device_mesh("cuda", tuple(sizes.values()), mesh_dim_names=tuple(sizes))


def wrapping_of(dist, part):
    """What surrounds a stage (torchtitan's parallelize_llama), as a case of measure says it."""
    tensors, data = dist.get("tp", 1), dist.get("data", "none")
    kind = {"none": "tp" if tensors > 1 else "none", "ddp": "ddp", "fsdp2": "fsdp2+tp" if tensors > 1 else "fsdp2"}[data]
    said = {**dist, "kind": kind, "world": tensors if data == "none" else dist["dp"], "dp": dist.get("dp", 1),
            "reshard": dist.get("reshard", False)}
    job = {**wrappers.job_of(said, part, "cuda"), "stages": dist["pp"]}
    return {**job, "ddp": job["ddp"] + ', process_group=mesh["dp"].get_group()'}


def wrapped(torch, dist, part, mesh):
    if dist.get("sequence_parallel"):
        part.parts = dist["tp"]
    names = {**wrappers.names_for(torch, part, "cuda"), "mesh": mesh}
    exec(scripts.wrapping_alone(wrapping_of(dist, part)), names)
    return names["model"]


def build_stages(torch, case, whole, mesh):
    from torch.distributed.pipelining import PipelineStage
    dist = case["dist"]
    is_replicated = dist.get("data") == "ddp"
    own = dist["rank"] // (dist.get("dp", 1) * dist.get("tp", 1))
    count = dist["pp"] * (dist.get("chunks", 2) if dist["schedule"] == "interleaved" else 1)
    at = points(len(models.blocks_of(whole)), count)
    stage_class = make_stage_class(torch)(whole)
    stages = []
    for index in range(own, count, dist["pp"]):
        part = stage_class(copy.deepcopy(whole), index == 0, index == count - 1, at[index], at[index + 1])
        if not is_replicated:
            wrapped(torch, dist, part, mesh)
        if case["init"] == "meta":
            part.to_empty(device="cuda")
            wrappers.refill(torch, part)
        else:
            part.to("cuda")
        part.train()
        if is_replicated:
            part = wrapped(torch, dist, part, mesh)
        stages.append(PipelineStage(part, index, count, torch.device("cuda"), group=mesh["pp"].get_group()))
    return stages


def make_schedule(torch, case, stages, loss):
    from torch.distributed import pipelining
    name = {"gpipe": "ScheduleGPipe", "1f1b": "Schedule1F1B", "interleaved": "ScheduleInterleaved1F1B"}
    stage = stages if case["dist"]["schedule"] == "interleaved" else stages[0]
    return getattr(pipelining, name[case["dist"]["schedule"]])(stage, case["grad_accum"], loss_fn=loss)


def loss_function(torch, case, whole):
    if case["loss"] == "hf" and hasattr(whole, "loss_function"):
        size, function = whole.config.vocab_size, whole.loss_function
        return lambda logits, labels: function(logits=logits, labels=labels, vocab_size=size)
    return lambda logits, labels: causal_loss(torch, logits, labels, case["loss"])


def loss_context(dist):
    if not dist.get("loss_parallel"):
        return contextlib.nullcontext()
    from torch.distributed.tensor.parallel import loss_parallel
    return loss_parallel()


class Phases:
    """Marks where a forward or backward of a micro-batch ends: where the next one begins."""

    def __init__(self, rec):
        self.rec = rec

    def begin(self, step):
        self.step, self.current, self.count = step, "forward", 0

    def end(self, following=None):
        self.rec.mark(self.current, self.step, self.count)
        self.current, self.count = following, self.count + 1

    def watch(self, stage):
        for name in ("forward", "backward"):
            def run(*args, name=name, real=getattr(stage, f"{name}_one_chunk"), **kwargs):
                self.end(name)
                return real(*args, **kwargs)

            setattr(stage, f"{name}_one_chunk", run)


def train(run):
    torch, case, device, rec, report = run.torch, run.case, run.device, run.recorder, run.report
    dist = case["dist"]
    if dist["schedule"] == "naive":
        return train_naive(run)
    dtype = model_dtype(torch, case)
    start_group(torch, dist["rank"], dist["pp"] * dist.get("dp", 1) * dist.get("tp", 1))
    mesh = make_mesh(torch, dist)
    rec.mark("group")
    whole, report["model"] = models.build(case, case["init"], dtype, run.tiny)
    models.set_recompute(whole, case["checkpoint"])
    stages = build_stages(torch, case, whole, mesh)
    parts = torch.nn.ModuleList(stage.submod for stage in stages)
    width = case_width(whole)
    shape = (case["batch"], case["seq"] // (dist.get("tp", 1) if dist.get("sequence_parallel") else 1), width)
    dtype = wrappers.dtype_of(torch, dist.get("mp")) or dtype
    announce(shape, dtype)
    rec.mark("model")
    phases = Phases(rec)
    for stage in stages:
        phases.watch(stage)
    schedule = make_schedule(torch, case, stages, loss_function(torch, case, whole))
    note_tensors(run, parts.named_parameters(), parts.named_buffers())
    report["parameters"] = [[name, shape, dtype, shape] for name, shape, dtype, _ in report["parameters"]]
    is_mixed = dist.get("tp", 1) > 1 and dist.get("data", "none") == "none"
    optimizer = optimizers.make_optimizer(torch, {**case, "dist": {**dist, "kind": "tp"}} if is_mixed else case, parts)
    rec.mark("optimizer")
    rec.label(block_labels(parts, optimizer))
    report["sequence_lengths"] = sequence_lengths(case)
    generator = torch.Generator().manual_seed(1)
    first, last = any(s.is_first for s in stages), any(s.is_last for s in stages)
    for step in range(case["steps"]):
        rec.reset_peaks()
        rec.mark("step_begin", step)
        if case["zero_grad_at"] == "start":
            optimizer.zero_grad(set_to_none=case["set_to_none"])
            rec.mark("zero_grad", step)
        on_host = torch.randint(0, 100, (case["batch"] * case["grad_accum"], case["seq"]), generator=generator)
        tokens = on_host.to(device)
        labels = on_host.clone().to(device)
        rec.mark("data", step, 0, shape=list(on_host.shape))
        rec.label((("input", tokens), ("input", labels)))
        losses = []
        phases.begin(step)
        with loss_context(dist):
            if first:
                schedule.step(tokens)
            elif last:
                schedule.step(target=labels, losses=losses)
            else:
                schedule.step()
        loss = torch.mean(torch.stack(losses)) if last else torch.tensor([-1.0])
        phases.end()
        rec.label(block_labels(parts, optimizer))
        if case["grad_clip"]:
            torch.nn.utils.clip_grad_norm_(parts.parameters(), case["grad_clip"])
            rec.mark("clip", step)
        optimizer.step()
        rec.mark("optimizer_step", step)
        rec.label(block_labels(parts, optimizer))
        if case["zero_grad_at"] == "end":
            optimizer.zero_grad(set_to_none=case["set_to_none"])
            rec.mark("zero_grad", step)
        rec.mark("step_end", step)
    report["_snapshot"] = rec.snapshot()
    report["loss"] = None if dist.get("loss_parallel") else float(loss.detach().cpu())


def device_map_of(case, whole):
    """Blocks in even shares; what comes before on the first device, what follows on the last, a tied head on the
    embedding's (accelerate keeps tied parameters on one device)."""
    count = len(models.blocks_of(whole))
    starts = points(count, case["dist"]["pp"])
    at = {"model.embed_tokens": 0, "model.rotary_emb": 0}
    for device in range(case["dist"]["pp"]):
        at.update({f"model.layers.{i}": device for i in range(starts[device], starts[device + 1])})
    at["model.norm"] = case["dist"]["pp"] - 1
    at["lm_head"] = 0 if whole.config.tie_word_embeddings else case["dist"]["pp"] - 1
    return at


def train_naive(run):
    """One process, one model whose blocks accelerate's dispatch_model spreads over the devices."""
    import accelerate
    torch, case, rec, report = run.torch, run.case, run.recorder, run.report
    device = case["dist"]["rank"]
    torch.cuda.set_device(device)
    torch.cuda.memory._record_memory_history(enabled="all", max_entries=2_000_000, context="alloc",
                                             stacks=report["stacks"])
    model, report["model"] = models.build(case, "cpu", model_dtype(torch, case))
    models.set_recompute(model, case["checkpoint"])
    model.train()
    model = accelerate.dispatch_model(model, device_map_of(case, model), skip_keys=["past_key_values", "cache"])
    rec.mark("model")
    own = [p for p in model.parameters() if p.device.index == device]
    note_tensors(run, ((n, p) for n, p in model.named_parameters() if p.device.index == device),
                 ((n, b) for n, b in model.named_buffers() if b.device.index == device))
    optimizer = optimizers.make_optimizer(torch, case, model)
    rec.mark("optimizer")
    rec.label([("parameter", p) for p in own])
    report["sequence_lengths"] = sequence_lengths(case)
    generator = torch.Generator().manual_seed(1)
    for step in range(case["steps"]):
        rec.reset_peaks()
        rec.mark("step_begin", step)
        for micro in range(case["grad_accum"]):
            on_host = torch.randint(0, 100, (case["batch"], case["seq"]), generator=generator)
            tokens = on_host.to("cuda:0")
            labels = on_host.clone().to("cuda:0")
            rec.mark("data", step, micro, shape=list(on_host.shape))
            loss = model(input_ids=tokens, labels=labels).loss
            rec.mark("forward", step, micro)
            if case["grad_accum"] > 1:
                loss = loss / case["grad_accum"]
            loss.backward()
            rec.mark("backward", step, micro)
        if case["grad_clip"]:
            torch.nn.utils.clip_grad_norm_(model.parameters(), case["grad_clip"])
            rec.mark("clip", step)
        optimizer.step()
        rec.mark("optimizer_step", step)
        optimizer.zero_grad(set_to_none=case["set_to_none"])
        rec.mark("zero_grad", step)
        rec.mark("step_end", step)
    report["_snapshot"] = of_one_device(rec.snapshot(), device)
    report["loss"] = 0.0


def of_one_device(snapshot, device):
    """The device's part, its addresses where the first device's are (the simulated devices have a range each)."""
    shift = device * 0x30000000000
    trace = [{**entry, "addr": entry["addr"] - shift} for entry in snapshot["device_traces"][device]]
    segments = [segment for segment in snapshot["segments"] if segment["device"] == device]
    for segment in segments:
        segment["device"] = 0
        segment["address"] -= shift
        for block in segment["blocks"]:
            block["address"] -= shift
    return {**snapshot, "device_traces": [trace], "segments": segments}


def case_width(whole):
    return whole.config.hidden_size if hasattr(whole, "config") else whole.norm.weight.numel()


if __name__ == "__main__":
    sys.exit(record_main(train, Path(__file__).resolve(), __doc__))
