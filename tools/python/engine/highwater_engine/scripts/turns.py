"""A plain loop around several models, each with an optimizer of its own: the halves of a GAN, an actor and its critics.

What happens within a step is the user's own function, a generator: it is given the models and a batch, and yields a model with
its loss, which is differentiated, and the model's optimizer steps before the function goes on.
"""
from . import evaluation
from .lines import indented, text
from .loop import loader
from .model_lines import dtype
from .optimizers import OPTIMIZERS, clipped, decayed, import_of_optimizer, made_of


def optimizers(job):
    """One for each model."""
    made = OPTIMIZERS[job["optimizer"]]
    return text("optimizers = {}", "for part in model:",
                indented(text(made_of(job, "part.parameters()", made, made.keywords + decayed(job)), "optimizers[part] = optimizer",
                              "optimizer.train()" if made.trains else "")))


def zeroed(job):
    argument = "" if job["set_to_none"] else "set_to_none=False"
    return text("for optimizer in optimizers.values():", f"    optimizer.zero_grad({argument})")


def turns_step(job):
    is_late = job["zeroes_at"] == "end"
    turn = text("loss.backward()", clipped(job).replace("model.parameters()", "part.parameters()"), "optimizers[part].step()")
    return text("" if is_late else zeroed(job), job["model"].load.format(device='"cuda"'), f"for part, loss in {job['model'].turns}:", indented(turn),
                zeroed(job) if is_late else "", "torch.cuda.empty_cache()" if job["empties_cache"] else "", evaluation.called(job))


def turns_script(job):
    model = job["model"]
    placed = f", {dtype(job)}" if dtype(job) else ""
    return text(import_of_optimizer(job), "import torch", model.imports, "", model.prepare,
                f"model = torch.nn.ModuleList({model.expression})", f'model.to("cuda"{placed})', "model.train()", optimizers(job),
                loader(job), "for step, batch in enumerate(loader):", indented(turns_step(job)), "") + "\n"
