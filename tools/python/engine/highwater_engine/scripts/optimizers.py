"""The lines of a script about its optimizer: construction, clipping, zeroing."""
import dataclasses

from .lines import text


@dataclasses.dataclass(frozen=True)
class Made:
    """How a script makes an optimizer: its class, its keywords, what they are for the projected parameters, whether it
    wants to be told that training begins, and whether it is given the model and runs the backward."""
    name: str
    keywords: str
    targeted: str = ""
    trains: bool = False
    takes_model: bool = False


def _bitsandbytes(word, name, keywords="lr=1e-4"):
    return {f"{word}-{bits}bit": Made(f"bitsandbytes.optim.{name}{bits}bit", keywords) for bits in (8, 32)}


_LOW_RANK = '"rank": {rank}, "update_proj_gap": 200, "proj_type": "std"'
OPTIMIZERS = {
    "adamw": Made("torch.optim.AdamW", "lr=1e-4"), "adam": Made("torch.optim.Adam", "lr=1e-4"),
    "sgd": Made("torch.optim.SGD", "lr=1e-2"), "sgd-momentum": Made("torch.optim.SGD", "lr=1e-2, momentum=0.9"),
    "adafactor": Made("torch.optim.Adafactor", "lr=1e-3"), "rmsprop": Made("torch.optim.RMSprop", "lr=1e-4"),
    "adagrad": Made("torch.optim.Adagrad", "lr=1e-3"), "muon": Made("torch.optim.Muon", "lr=1e-3"),
    "nadam": Made("torch.optim.NAdam", "lr=1e-3"), "radam": Made("torch.optim.RAdam", "lr=1e-3"),
    "adamax": Made("torch.optim.Adamax", "lr=1e-3"), "adadelta": Made("torch.optim.Adadelta", "lr=1.0"),
    "asgd": Made("torch.optim.ASGD", "lr=1e-2"), "rprop": Made("torch.optim.Rprop", "lr=1e-2"),
    **_bitsandbytes("adamw", "AdamW"), **_bitsandbytes("paged-adamw", "PagedAdamW"),
    **_bitsandbytes("lion", "Lion"), **_bitsandbytes("paged-lion", "PagedLion"),
    "ademamix-8bit": Made("bitsandbytes.optim.AdEMAMix8bit", "lr=1e-4"),
    "ademamix-32bit": Made("bitsandbytes.optim.AdEMAMix", "lr=1e-4"),  # AdEMAMix32bit has half of its states
    "paged-ademamix-8bit": Made("bitsandbytes.optim.PagedAdEMAMix8bit", "lr=1e-4"),
    "paged-ademamix-32bit": Made("bitsandbytes.optim.PagedAdEMAMix", "lr=1e-4"),
    **_bitsandbytes("rmsprop", "RMSprop"), **_bitsandbytes("sgd", "SGD", "lr=1e-4, momentum=0.9"),
    **_bitsandbytes("adagrad", "Adagrad"), "lamb-32bit": Made("bitsandbytes.optim.LAMB32bit", "lr=1e-4"),
    "lars-32bit": Made("bitsandbytes.optim.LARS32bit", "lr=1e-4, momentum=0.9"),
    "adafactor-hf": Made("transformers.Adafactor", "lr=1e-3, scale_parameter=False, relative_step=False"),
    "lion": Made("lion_pytorch.Lion", "lr=1e-4"), "stable-adamw": Made("optimi.StableAdamW", "lr=1e-4"),
    "schedule-free-adamw": Made("schedulefree.AdamWScheduleFree", "lr=1e-4", trains=True),
    "schedule-free-radam": Made("schedulefree.RAdamScheduleFree", "lr=1e-4", trains=True),
    "schedule-free-sgd": Made("schedulefree.SGDScheduleFree", "lr=1e-2", trains=True),
    "galore-adamw": Made("galore_torch.GaLoreAdamW", "lr=1e-4", _LOW_RANK + ', "scale": 0.25'),
    "galore-adamw-8bit": Made("galore_torch.GaLoreAdamW8bit", "lr=1e-4", _LOW_RANK + ', "scale": 0.25'),
    "galore-adafactor": Made("galore_torch.GaLoreAdafactor", "lr=1e-3, scale_parameter=False, relative_step=False",
                             _LOW_RANK + ', "scale": 0.25'),
    "apollo-adamw": Made("apollo_torch.APOLLOAdamW", "lr=1e-4",
                         _LOW_RANK + ', "proj": "random", "scale_type": "channel", "scale": 1.0'),
    "adamw-torch-8bit": Made("torchao.optim.AdamW8bit", "lr=1e-4"),
    "adamw-torch-4bit": Made("torchao.optim.AdamW4bit", "lr=1e-4"),
    "adamw-torch-fp8": Made("torchao.optim.AdamWFp8", "lr=1e-4"),
    "adamw-cpu-offload": Made("torchao.optim.CPUOffloadOptimizer", "torch.optim.AdamW, lr=1e-4"),
    "came": Made("came_pytorch.CAME", "lr=1e-4"), "grokadamw": Made("grokadamw.GrokAdamW", "lr=1e-4"),
    "lomo": Made("lomo_optim.Lomo", "lr=1e-4", takes_model=True),
    "adalomo": Made("lomo_optim.AdaLomo", "lr=1e-4", takes_model=True),
}
# What transformers' training_args.py (OptimizerNames) calls them; None: it is Trainer's default.
TRAINER_OPTIMIZERS = {
    "adamw": None, "sgd": "sgd", "rmsprop": "rmsprop", "adagrad": "adagrad", "adafactor-hf": "adafactor",
    "adamw-8bit": "adamw_bnb_8bit", "rmsprop-8bit": "rmsprop_bnb_8bit", "rmsprop-32bit": "rmsprop_bnb_32bit",
    "ademamix-32bit": "ademamix", "adamw-torch-8bit": "adamw_torch_8bit", "adamw-torch-4bit": "adamw_torch_4bit",
    **{name: name.replace("-", "_") for name in (
        "lion-8bit", "lion-32bit", "paged-adamw-8bit", "paged-adamw-32bit", "paged-lion-8bit", "paged-lion-32bit",
        "ademamix-8bit", "paged-ademamix-8bit", "paged-ademamix-32bit", "schedule-free-adamw", "schedule-free-radam",
        "schedule-free-sgd", "stable-adamw", "grokadamw", "galore-adamw", "galore-adamw-8bit",
        "galore-adafactor", "apollo-adamw", "lomo", "adalomo")},
}
IMPLEMENTATIONS = {None: "", "default": "", "fused": ", fused=True", "foreach": ", foreach=True", "loop": ", foreach=False"}


def import_of_optimizer(job):
    package = OPTIMIZERS[job["optimizer"]].name.rpartition(".")[0]
    return "" if package.startswith("torch.") else f"import {package}"


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
    options = made.keywords + IMPLEMENTATIONS[job["implementation"]]
    first = grouping(job)
    train = "optimizer.train()" if made.trains else ""
    if not first:
        return text(f"optimizer = {made.name}(model.parameters(), {options})", train)
    second = {"p.dim() > 1": "p.dim() <= 1"}.get(first, f"not {first}")
    return text(f"groups = [[p for p in model.parameters() if {first}], [p for p in model.parameters() if {second}]]",
                f'optimizer = {made.name}([{{"params": group}} for group in groups], {options})', train)


def differentiated(job):
    """The backward pass, which some optimizers run themselves."""
    made = OPTIMIZERS.get(job["optimizer"])
    return "optimizer.fused_backward(loss, 1e-4)" if made and made.takes_model else "loss.backward()"


def stepped(job):
    if OPTIMIZERS[job["optimizer"]].takes_model:
        return ""
    return text("optimizer.step()", "second_optimizer.step()" if job["optimizer"] == "muon" else "")


def clipped(job):
    if not job["clip"]:
        return ""
    return f"model.clip_grad_norm_({job['clip']})" if job["sharding"] == "fsdp1" else \
        f"torch.nn.utils.clip_grad_norm_(model.parameters(), {job['clip']})"


def zeroed(job):
    to_none = "" if job["set_to_none"] else "set_to_none=False"
    return text(f"optimizer.zero_grad({to_none})",
                f"second_optimizer.zero_grad({to_none})" if job["optimizer"] == "muon" else "")
