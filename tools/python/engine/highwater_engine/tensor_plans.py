"""How transformers' models are split over tensor-parallel ranks: by their own plans, and the embedding by its rows."""
import dataclasses
import json

from .plan import Refused
from .scripts.tensor_parallel import LOGITS_SPLIT, STYLES, SUMMED, in_order


@dataclasses.dataclass(frozen=True)
class TensorPlan:
    whole: dict      # module -> style, outside the blocks
    blocks: str      # where the list of blocks is
    block: dict      # module of a block -> style
    summed: tuple = ()  # modules of a block whose gradients are summed over the ranks


def tensor_plan(model):
    """@raises Refused"""
    from transformers import AutoConfig
    config = AutoConfig.for_model(**json.loads(model.files["config.json"])) if model.has_config else None
    if not getattr(config, "base_model_tp_plan", None):
        raise Refused("--tp: transformers has no plan for splitting this model (base_model_tp_plan); use another model, "
                      "or --engine model")
    return arranged(config, _model_class(config))


def _model_class(config):
    import transformers
    from transformers.models.auto import modeling_auto
    return getattr(transformers, modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(config.model_type, ""), None)


def arranged(config, model_class, splits_logits=False):
    """@pre the configuration has a plan. @raises Refused"""
    prefix = getattr(model_class, "base_model_prefix", "model")
    blocks, block = None, {}
    whole = {f"{prefix}.{name}": "embedding_rowwise" for name, (given, _) in (config.base_model_pp_plan or {}).items()
             if given == ["input_ids"]}
    for name, style in {**{f"{prefix}.{name}": style for name, style in config.base_model_tp_plan.items()},
                        **(getattr(model_class, "_tp_plan", None) or {})}.items():
        if style not in (*STYLES, SUMMED):
            raise Refused(f"--tp: transformers splits {name} by '{style}', which parallelize_module has no style for; "
                          "use another model")
        outside, _, within = name.partition(".*.")
        if within:
            blocks = outside
            block[within] = style
        else:
            whole[name] = style
    whole = in_order(whole)
    if splits_logits:
        whole = {name: LOGITS_SPLIT if style == "colwise_gather_output" else style for name, style in whole.items()}
    return TensorPlan(whole, blocks, in_order({name: style for name, style in block.items() if style != SUMMED}),
                      tuple(name for name, style in block.items() if style == SUMMED))
