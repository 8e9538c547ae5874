"""parallelize_module as a script calls it, by a model's tensor plan (tensor_plans.py)."""
from .lines import indented, text

# transformers' words for what happens to a module (distributed/tensor_parallel.py), as PyTorch says them.
STYLES = {"rowwise": "RowwiseParallel()", "rowwise_split_input": "RowwiseParallel(input_layouts=Replicate())",
          "embedding_rowwise": "RowwiseParallel(input_layouts=Replicate())", "colwise": "ColwiseParallel()",
          "colwise_gather_output": "ColwiseParallel(output_layouts=Replicate())"}
# Whole on every rank, with a gradient that each rank has a part of.
SUMMED = "replicated_with_grad_allreduce"
# Logits that stay split over the vocabulary, for loss_parallel().
LOGITS_SPLIT = "ColwiseParallel(output_layouts=Shard(-1), use_local_output=False)"


def in_order(modules):
    """Row-wise modules first."""
    return dict(sorted(modules.items(), key=lambda module: list(STYLES).index(module[1])))


def styles(modules, by=4):
    """The lines of a plan, whose styles are words of STYLES or Python."""
    return indented("\n".join(f'"{name}": {STYLES.get(style, style)},' for name, style in modules.items()), by)


def summed(names, mesh):
    modules = ", ".join(f"block.{name}" for name in names)
    return text(f"    for module in ({modules},):", "        for parameter in module.parameters():",
                "            parameter.register_post_accumulate_grad_hook(",
                f"                lambda p: torch.distributed.all_reduce(p.grad, group={mesh}.get_group()))") if names else ""


def split(job, mesh):
    plan = job["tensor_plan"]
    return text(f"parallelize_module(model, {mesh}, {{", styles(plan.whole), "})",
                f"for block in model.{plan.blocks}:", f"    parallelize_module(block, {mesh}, {{",
                styles(plan.block, 8), "    })", summed(plan.summed, mesh))


def imports_of_splitting(job):
    said = "".join([*job["tensor_plan"].whole.values(), *job["tensor_plan"].block.values()])
    styled = [name for name in ("PrepareModuleInput", "SequenceParallel") if name in said]
    imported = ", ".join(sorted(["ColwiseParallel", *styled, "RowwiseParallel"]))
    return text(f"from torch.distributed.tensor import DTensor, Replicate{', Shard' if 'Shard(' in said else ''}",
                f"from torch.distributed.tensor.parallel import {imported}, parallelize_module")
