"""How a case's model is split over tensor-parallel ranks: a model of transformers by its own plan, the plain decoder as
torchtitan's was in January 2025, with or without sequence parallelism."""

from highwater_engine import tensor_plans
from highwater_engine.scripts.tensor_parallel import LOGITS_SPLIT

ROWS = ("attention.wo", "feed_forward.w2")
COLUMNS = dict.fromkeys(("attention.wq", "attention.wk", "attention.wv", "feed_forward.w1", "feed_forward.w3"), "colwise")

# With sequence parallelism norms see a part of the sequence, and what follows them is given all of it.
SPLIT_SEQUENCE = "RowwiseParallel(output_layouts=Shard(1))"
EMBEDDED = "RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1))"
ATTENTION = "PrepareModuleInput(input_layouts=(Shard(1), None, None), desired_input_layouts=(Replicate(), None, None))"
FEED_FORWARD = "PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),))"
NORM = "SequenceParallel()"


def tensor_plan(model, dist):
    """dist: of the case, with "sequence_parallel" and "loss_parallel"."""
    splits_logits = dist.get("loss_parallel", False)
    if hasattr(model, "tok_embeddings"):  # a stage of a plain decoder is another class
        return (with_sequence if dist.get("sequence_parallel") else without_sequence)(splits_logits)
    if dist.get("sequence_parallel"):
        raise ValueError("dist.sequence_parallel: transformers passes attention its input by keyword, which "
                         "PrepareModuleInput ignores; use a plain model")
    return tensor_plans.arranged(model.config, type(model), splits_logits)


def without_sequence(splits_logits):
    head = LOGITS_SPLIT if splits_logits else "colwise_gather_output"
    return tensor_plans.TensorPlan({"tok_embeddings": "embedding_rowwise", "output": head}, "layers",
                                   {**dict.fromkeys(ROWS, "rowwise"), **COLUMNS})


def with_sequence(splits_logits):
    output = "Shard(-1), use_local_output=False" if splits_logits else "Replicate()"
    head = f"ColwiseParallel(input_layouts=Shard(1), output_layouts={output})"
    return tensor_plans.TensorPlan(
        {"tok_embeddings": EMBEDDED, "norm": NORM, "output": head}, "layers",
        {"attention_norm": NORM, "ffn_norm": NORM, "attention": ATTENTION, "feed_forward": FEED_FORWARD,
         **dict.fromkeys(ROWS, SPLIT_SEQUENCE), **COLUMNS})
