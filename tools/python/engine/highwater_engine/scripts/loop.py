"""What the loops that a script writes itself have in common: batches, the forward pass and its loss."""
from .lines import text


def tensors_of(job):
    return ["input_ids", *(["attention_mask"] if job["mask"] else []), "labels"]


def arguments(job):
    """What a call of the model is given where each tensor has a name."""
    if job["context_ranks"] > 1:
        return "input_ids=input_ids, position_ids=position_ids, shift_labels=labels, labels=labels"
    return ", ".join(f"{name}={name}" for name in tensors_of(job))


def loading(job, device):
    if job["names_tensors"]:
        return text(*(f'{name} = batch["{name}"].to({device})' for name in tensors_of(job)))
    return text(job["model"].load.format(device=device), *job["model"].arranges)


def forward_and_loss(job, called="model"):
    """(the line of the forward pass, the expression of the loss; None: that line has bound it)"""
    model = job["model"]
    call = f"{called}({arguments(job)})" if job["names_tensors"] else \
        model.call.format(called=called, constants=model.constants)
    if job["keeps_outputs"] or model.loss != "outputs.loss":
        return f"outputs = {call}", model.loss
    return f"loss = {call}.loss", None


def dropped(job):
    """The line that keeps only the loss, where that is computed outside of the model."""
    return "del outputs" if not job["keeps_outputs"] and job["model"].loss != "outputs.loss" else ""


def loader(job):
    """What the loop goes over."""
    if job["model"].batches:
        return f"loader = {job['model'].batches.format(batch=job['batch'], steps=job['examples'] // job['batch'])}"
    return f"loader = torch.utils.data.DataLoader({job.get('dataset') or job['model'].dataset}, batch_size={job['batch']})"
