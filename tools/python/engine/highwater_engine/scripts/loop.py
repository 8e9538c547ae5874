"""What the loops that a script writes itself have in common: batches, the forward pass and its loss."""
from .lines import text


def tensors_of(job):
    return ["input_ids", *(["attention_mask"] if job["mask"] else []), "labels"]


def loading(job, device):
    if job["names_tensors"]:
        return text(*(f'{name} = batch["{name}"].to({device})' for name in tensors_of(job)))
    return f"batch = {{name: tensor.to({device}) for name, tensor in batch.items()}}"


def forward_and_loss(job, called="model"):
    """(the line of the forward pass, the expression of the loss; None: that line has bound it)"""
    loss = job["model"].loss
    given = ", ".join(f"{name}={name}" for name in tensors_of(job)) if job["names_tensors"] else "**batch"
    if job["keeps_outputs"] or loss != "outputs.loss":
        return f"outputs = {called}({given})", loss
    return f"loss = {called}({given}).loss", None


def loader(job):
    return f"loader = torch.utils.data.DataLoader({job['model'].dataset}, batch_size={job['batch']})"
