"""parallelize_module as a script calls it, by a model's tensor plan (tensor_plans.py)."""
from .lines import indented, text

# transformers' words for what happens to a module (distributed/tensor_parallel.py), as PyTorch says them.
STYLES = {"rowwise": "RowwiseParallel()", "rowwise_split_input": "RowwiseParallel(input_layouts=Replicate())",
          "embedding_rowwise": "RowwiseParallel(input_layouts=Replicate())", "colwise": "ColwiseParallel()",
          "colwise_gather_output": "ColwiseParallel(output_layouts=Replicate())"}
# Whole on every rank, with a gradient that each rank has a part of.
SUMMED = "replicated_with_grad_allreduce"


def styles(modules, by=4):
    """The lines of a plan; row-wise modules first."""
    ordered = sorted(modules.items(), key=lambda module: list(STYLES).index(module[1]))
    return indented("\n".join(f'"{name}": {STYLES[style]},' for name, style in ordered), by)


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
    return text("from torch.distributed.tensor import DTensor, Replicate",
                "from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module")
