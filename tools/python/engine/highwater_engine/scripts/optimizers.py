"""The lines of a script about its optimizer: construction, clipping, zeroing."""
from .lines import text

OPTIMIZERS = {"adamw": ("AdamW", "lr=1e-4"), "adam": ("Adam", "lr=1e-4"), "sgd": ("SGD", "lr=1e-2"),
              "sgd-momentum": ("SGD", "lr=1e-2, momentum=0.9"), "adafactor": ("Adafactor", "lr=1e-3"),
              "rmsprop": ("RMSprop", "lr=1e-4"), "adagrad": ("Adagrad", "lr=1e-3")}
IMPLEMENTATIONS = {None: "", "default": "", "fused": ", fused=True", "foreach": ", foreach=True", "loop": ", foreach=False"}


def optimizer(job):
    name, options = OPTIMIZERS[job["optimizer"]]
    options += IMPLEMENTATIONS[job["implementation"]]
    if job["param_groups"] == 1:
        return f"optimizer = torch.optim.{name}(model.parameters(), {options})"
    return text("groups = [[p for p in model.parameters() if p.dim() > 1], [p for p in model.parameters() if p.dim() <= 1]]",
                f'optimizer = torch.optim.{name}([{{"params": group}} for group in groups], {options})')


def clipped(job):
    if not job["clip"]:
        return ""
    return f"model.clip_grad_norm_({job['clip']})" if job["sharding"] == "fsdp1" else \
        f"torch.nn.utils.clip_grad_norm_(model.parameters(), {job['clip']})"


def zeroed(job):
    return "optimizer.zero_grad()" if job["set_to_none"] else "optimizer.zero_grad(set_to_none=False)"
