"""The lines of a script about its optimizer: construction, clipping, zeroing."""
from .lines import text

OPTIMIZERS = {"adamw": ("torch.optim.AdamW", "lr=1e-4"), "adam": ("torch.optim.Adam", "lr=1e-4"),
              "sgd": ("torch.optim.SGD", "lr=1e-2"), "sgd-momentum": ("torch.optim.SGD", "lr=1e-2, momentum=0.9"),
              "adafactor": ("torch.optim.Adafactor", "lr=1e-3"), "rmsprop": ("torch.optim.RMSprop", "lr=1e-4"),
              "adagrad": ("torch.optim.Adagrad", "lr=1e-3"), "adamw-8bit": ("bitsandbytes.optim.AdamW8bit", "lr=1e-4")}
IMPLEMENTATIONS = {None: "", "default": "", "fused": ", fused=True", "foreach": ", foreach=True", "loop": ", foreach=False"}


def import_of_optimizer(job):
    return "import bitsandbytes" if job["optimizer"] == "adamw-8bit" else ""


def grouping(job):
    """What tells the parameters of the first group from those of the second; empty: there is one group."""
    if job["sharding"] == "tensor":
        return "isinstance(p, DTensor)"  # PyTorch's multi-tensor operators cannot mix them with others
    return "p.dim() > 1" if job["param_groups"] == 2 else ""


def optimizer(job):
    name, options = OPTIMIZERS[job["optimizer"]]
    options += IMPLEMENTATIONS[job["implementation"]]
    first = grouping(job)
    if not first:
        return f"optimizer = {name}(model.parameters(), {options})"
    second = {"p.dim() > 1": "p.dim() <= 1"}.get(first, f"not {first}")
    return text(f"groups = [[p for p in model.parameters() if {first}], [p for p in model.parameters() if {second}]]",
                f'optimizer = {name}([{{"params": group}} for group in groups], {options})')


def clipped(job):
    if not job["clip"]:
        return ""
    return f"model.clip_grad_norm_({job['clip']})" if job["sharding"] == "fsdp1" else \
        f"torch.nn.utils.clip_grad_norm_(model.parameters(), {job['clip']})"


def zeroed(job):
    return "optimizer.zero_grad()" if job["set_to_none"] else "optimizer.zero_grad(set_to_none=False)"
