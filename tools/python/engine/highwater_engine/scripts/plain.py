"""A plain loop around a model of transformers, on one GPU or over data-parallel ranks."""
from .lines import TORCH_TYPES, indented, text
from .model_lines import data, imports_of_model
from .optimizers import clipped, optimizer, zeroed
from .wrapping import imports_of_wrapping, wrapping


def plain_update(job):
    if job["optimizer"] == "none":
        return text(clipped(job), "model.zero_grad()")
    step = (("scaler.unscale_(optimizer)" if job["clip"] else "", clipped(job), "scaler.step(optimizer)",
             "scaler.update()") if job["autocast"] == "fp16" else (clipped(job), "optimizer.step()"))
    return text(*step, zeroed(job) if job["zeroes_at"] == "end" else "",
                "torch.cuda.empty_cache()" if job["empties_cache"] else "")


def tensors_of(job):
    return ["input_ids", *(["attention_mask"] if job["mask"] else []), "labels"]


def loading(job, device):
    if job["names_tensors"]:
        return text(*(f'{name} = batch["{name}"].to({device})' for name in tensors_of(job)))
    return f"batch = {{name: tensor.to({device}) for name, tensor in batch.items()}}"


def plain_forward(job):
    """The forward pass and the loss."""
    loss = job["model"].loss
    given = ", ".join(f"{name}={name}" for name in tensors_of(job)) if job["names_tensors"] else "**batch"
    if job["keeps_outputs"] or loss != "outputs.loss":
        return f"outputs = model({given})", loss
    return f"loss = model({given}).loss", None


def plain_step(job, device):
    """The body of the loop over batches."""
    accumulates = job["accumulate"] > 1
    forward, loss = plain_forward(job)
    if job["autocast"]:
        forward = text(f'with torch.autocast("cuda", dtype={TORCH_TYPES[job["autocast"]]}):', indented(forward))
    share = f" / {job['accumulate']}" if accumulates else ""
    divided = f"loss = {loss or 'loss'}{share}" if loss or share else ""
    load = loading(job, device)
    if not job["training"]:
        return text(load, "with torch.no_grad():", indented(text(forward, divided)))
    backward = "scaler.scale(loss).backward()" if job["autocast"] == "fp16" else "loss.backward()"
    update = plain_update(job)
    last = f"(step + 1) % {job['accumulate']} == 0"
    if accumulates and job["no_sync"]:
        body = text(forward, divided, backward)
        context = f"with contextlib.nullcontext() if {last} else model.no_sync():"
        body = text(f"model.set_requires_gradient_sync({last})", body) if job["sharding"] == "fsdp2" else \
            text(context, indented(body))
    else:
        body = text(forward, divided, backward)
    if accumulates:
        update = text(f"if {last}:", indented(update))
    first = ""
    if job["zeroes_at"] == "start":
        first = text(f"if step % {job['accumulate']} == 0:", indented(zeroed(job))) if accumulates else zeroed(job)
    return text(first, load, body, update)


def plain_script(job):
    is_alone = job["sharding"] == "none"
    device = '"cuda"' if is_alone else "rank"
    group = text('rank = int(os.environ["LOCAL_RANK"])', "torch.cuda.set_device(rank)",
                 'torch.distributed.init_process_group("nccl")')
    return text(
        "import contextlib" if job["no_sync"] and job["sharding"] in ("ddp", "fsdp1") else "",
        *(() if is_alone else ("import functools", "import os") if job["sharding"] == "fsdp1" else ("import os",)),
        "import torch", imports_of_model(job), imports_of_wrapping(job),
        "", job["model"].prepare, data(job),
        "" if is_alone else group, wrapping(job, device), "model.train()" if job["training"] else "model.eval()",
        optimizer(job) if job["training"] and job["optimizer"] != "none" else "",
        'scaler = torch.amp.GradScaler("cuda")' if job["autocast"] == "fp16" and job["training"] else "",
        f"loader = torch.utils.data.DataLoader({job['model'].dataset}, batch_size={job['batch']})",
        "for step, batch in enumerate(loader):", indented(plain_step(job, device)), "") + "\n"
