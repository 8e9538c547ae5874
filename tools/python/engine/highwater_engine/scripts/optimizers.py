"""The lines of a script about its optimizer: construction, clipping, zeroing."""
import dataclasses

from ..facts import facts
from .lines import text


@dataclasses.dataclass(frozen=True)
class Made:
    """How a script makes an optimizer (workloads/facts/optimizers.json): its class, its keywords, what they are for the projected parameters, whether it
    wants to be told that training begins, whether it is given the model and runs the backward, and whether its step is given a function that runs
    forward and backward."""
    name: str
    keywords: str
    targeted: str = ""
    trains: bool = False
    takes_model: bool = False
    calls_again: bool = False


def _made(script):
    return Made(**{"name" if field == "class" else field: value for field, value in script.items()})


_ROWS = facts("optimizers.json")["optimizers"]
OPTIMIZERS = {row["word"]: _made(row["script"]) for row in _ROWS if "script" in row}
# What transformers calls them; None: it is Trainer's default.
TRAINER_OPTIMIZERS = {row["word"]: row["trainer"]["writes"] for row in _ROWS if "trainer" in row}
IMPLEMENTATIONS = {None: "", "default": "", "fused": ", fused=True", "foreach": ", foreach=True", "loop": ", foreach=False"}


def import_of_optimizer(job):
    package = OPTIMIZERS[job["optimizer"]].name.rpartition(".")[0]
    return text("" if package.startswith("torch.") else f"import {package}",
                "import torch.distributed.optim" if job["redundancy"] != "none" else "")


def grouping(job):
    """What tells the parameters of the first group from those of the second; empty: there is one group."""
    if job["sharding"] == "tensor":
        return "isinstance(p, DTensor)"  # PyTorch's multi-tensor operators cannot mix them with others
    return "p.dim() > 1" if job["param_groups"] == 2 else ""


def split_by_matrix():
    """The lines that tell the matrices of the layers from other parameters."""
    return text("tables = [m.weight for m in model.modules() if isinstance(m, torch.nn.Embedding)]",
                "tables = {id(p) for p in (*tables, model.get_output_embeddings().weight)}",
                "matrices = [p for p in model.parameters() if p.dim() == 2 and id(p) not in tables]",
                "others = [p for p in model.parameters() if p.dim() != 2 or id(p) in tables]")


def split_by_linear():
    """The same of the weights of linear layers (transformers' trainer_optimizer.py: all-linear)."""
    return text('names = {f"{n}.weight" for n, m in model.named_modules() if isinstance(m, torch.nn.Linear)}',
                "targets = [p for n, p in model.named_parameters() if n in names]",
                "others = [p for n, p in model.named_parameters() if n not in names]")


def optimizer(job):
    made = OPTIMIZERS[job["optimizer"]]
    if job["optimizer"] == "muon":
        return text(split_by_matrix(), f"optimizer = {made.name}(matrices, {made.keywords})",
                    "second_optimizer = torch.optim.AdamW(others, lr=1e-4)")
    if made.targeted:
        group = made.targeted.format(rank=job["optimizer_rank"])
        return text(split_by_linear(),
                    f'optimizer = {made.name}([{{"params": others}}, {{"params": targets, {group}}}], {made.keywords})')
    if made.takes_model:
        return f"optimizer = {made.name}(model, {made.keywords})"
    options = made.keywords + IMPLEMENTATIONS[job["implementation"]] + decayed(job)
    first = grouping(job)
    train = "optimizer.train()" if made.trains else ""
    if not first:
        return text(made_of(job, "model.parameters()", made, options), train)
    second = {"p.dim() > 1": "p.dim() <= 1"}.get(first, f"not {first}")
    return text(f"groups = [[p for p in model.parameters() if {first}], [p for p in model.parameters() if {second}]]",
                made_of(job, '[{"params": group} for group in groups]', made, options), train)


def decayed(job):
    return f", weight_decay={job['weight_decay']}" if job["weight_decay"] else ""


def made_of(job, parameters, made, options):
    """The optimizer itself, or one that steps this rank's part with it."""
    if job["redundancy"] == "none":
        return f"optimizer = {made.name}({parameters}, {options})"
    packed = ", parameters_as_bucket_view=True" if job["redundancy"] == "buckets" else ""
    return text("optimizer = torch.distributed.optim.ZeroRedundancyOptimizer(",
                f"    {parameters}, optimizer_class={made.name}{packed}, {options})")


def differentiated(job):
    """The backward pass, which some optimizers run themselves."""
    made = OPTIMIZERS.get(job["optimizer"])
    return "optimizer.fused_backward(loss, 1e-4)" if made and made.takes_model else "loss.backward()"


def stepped(job):
    if OPTIMIZERS[job["optimizer"]].takes_model:
        return ""
    return text("optimizer.step()", "second_optimizer.step()" if job["optimizer"] == "muon" else "")


def calls_again(job):
    return job["optimizer"] in OPTIMIZERS and OPTIMIZERS[job["optimizer"]].calls_again


def clipped(job):
    if not job["clip"]:
        return ""
    return f"model.clip_grad_norm_({job['clip']})" if job["sharding"] == "fsdp1" else \
        f"torch.nn.utils.clip_grad_norm_(model.parameters(), {job['clip']})"


def zeroed(job):
    to_none = "" if job["set_to_none"] else "set_to_none=False"
    return text(f"optimizer.zero_grad({to_none})",
                f"second_optimizer.zero_grad({to_none})" if job["optimizer"] == "muon" else "")
