"""A plain loop around a model of transformers, on one GPU or over several ranks."""
from . import evaluation, teacher
from .lines import TORCH_TYPES, indented, text
from .loop import dropped, forward_and_loss, loader, loading
from .model_lines import data, imports_of_model
from .optimizers import calls_again, clipped, differentiated, import_of_optimizer, optimizer, stepped, zeroed
from .wrapping import imports_of_wrapping, wrapping


def plain_update(job):
    if job["optimizer"] == "none":
        return text(clipped(job), "model.zero_grad()")
    step = (("scaler.unscale_(optimizer)" if job["clip"] else "", clipped(job), "scaler.step(optimizer)",
             "scaler.update()") if job["autocast"] == "fp16" else (clipped(job), stepped(job)))
    return text(*step, zeroed(job) if job["zeroes_at"] == "end" else "", "averaged.update_parameters(model)" if job["averages"] else "",
                "torch.cuda.empty_cache()" if job["empties_cache"] else "")


def under_autocast(job, lines):
    if not job["autocast"]:
        return lines
    return text(f'with torch.autocast("cuda", dtype={TORCH_TYPES[job["autocast"]]}):', indented(lines))


def evaluated(job, device):
    """The function that evaluates between steps, and what it goes over."""
    forward, loss = forward_and_loss(job)
    lines = text(under_autocast(job, forward), f"loss = {loss}" if loss else "")
    return text(evaluation.data(job), evaluation.function(job, loading(job, device), lines))


def computed(job):
    """The forward pass and the loss, in what surrounds them."""
    forward, loss = forward_and_loss(job)
    forward = under_autocast(job, text(forward, teacher.asked(job)))
    share = f" / {job['accumulate']}" if job["accumulate"] > 1 else ""
    lines = text(forward, f"loss = {loss or 'loss'}{share}" if loss or share else "", dropped(job))
    if job["offloads_activations"]:
        lines = text("with torch.autograd.graph.save_on_cpu(pin_memory=True):", indented(lines))
    return lines if job["training"] else text("with torch.no_grad():", indented(lines))


def shared(job, body):
    """Each rank of the mesh's "cp" computes its part of the sequence."""
    tensors = "[input_ids, labels, position_ids]"
    return text("position_ids = torch.arange(input_ids.shape[1], device=rank).unsqueeze(0)",
                f'with context_parallel(mesh["cp"], buffers={tensors}, buffer_seq_dims=[1, 1, 1],',
                f"                      no_restore_buffers=set({tensors})):", indented(body))


def without_sync(job, last, body):
    """Gradients are reduced in the last micro-batch of a step only."""
    if job["sharding"] == "fsdp2":
        return text(f"model.set_requires_gradient_sync({last})", body)
    return text(f"with contextlib.nullcontext() if {last} else model.no_sync():", indented(body))


def closure(job):
    """The function that the optimizer's step calls, as PyTorch's documents write it."""
    zeroes_late = job["zeroes_at"] == "backward"
    body = text("" if zeroes_late else zeroed(job), computed(job), zeroed(job) if zeroes_late else "", "loss.backward()", clipped(job),
                "return loss")
    return text("def closure():", indented(body))


def plain_step(job, device):
    """The body of the loop over batches."""
    load = loading(job, device)
    if not job["training"]:
        return text(load, computed(job))
    if calls_again(job):
        return text(load, closure(job), "optimizer.step(closure)", "averaged.update_parameters(model)" if job["averages"] else "",
                    evaluation.called(job))
    accumulates = job["accumulate"] > 1
    last = f"(step + 1) % {job['accumulate']} == 0"
    zero = text(f"if step % {job['accumulate']} == 0:", indented(zeroed(job))) if accumulates else zeroed(job)
    body = text(computed(job), zero if job["zeroes_at"] == "backward" else "",
                "scaler.scale(loss).backward()" if job["autocast"] == "fp16" else differentiated(job))
    if job["context_ranks"] > 1:
        body = shared(job, body)
    if accumulates and job["no_sync"]:
        body = without_sync(job, last, body)
    update = text(f"if {last}:", indented(plain_update(job))) if accumulates else plain_update(job)
    return text(zero if job["zeroes_at"] == "start" else "", load, body, update, evaluation.called(job))


def plain_script(job):
    is_alone = job["sharding"] == "none"
    device = '"cuda"' if is_alone else "rank"
    group = text('rank = int(os.environ["LOCAL_RANK"])', "torch.cuda.set_device(rank)",
                 'torch.distributed.init_process_group("nccl")')
    trains = job["training"] and job["optimizer"] != "none"
    return text(
        "import contextlib" if job["no_sync"] and job["sharding"] in ("ddp", "fsdp1") else "",
        *(() if is_alone else ("import functools", "import os") if job["sharding"] == "fsdp1" else ("import os",)),
        import_of_optimizer(job) if trains else "", "import torch", imports_of_model(job), imports_of_wrapping(job),
        "", teacher.made(job), job["model"].prepare, data(job),
        "" if is_alone else group, wrapping(job, device), "model.train()" if job["training"] else "model.eval()",
        optimizer(job) if trains else "", "averaged = torch.optim.swa_utils.AveragedModel(model)" if job["averages"] else "",
        'scaler = torch.amp.GradScaler("cuda")' if job["autocast"] == "fp16" and job["training"] else "",
        loader(job), evaluated(job, device), "for step, batch in enumerate(loader):", indented(plain_step(job, device)), "") + "\n"
