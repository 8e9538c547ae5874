"""What a model is: class, configuration, types of its parameters, adapters."""
import json
import sys
from collections import Counter


def described(torch, module):
    """Facts about the module that a script calls and the model in it; JSON values only."""
    model = innermost(module)
    config = getattr(model, "config", None)
    facts = {"class": type(model).__name__, "parameters": elements(module.parameters()),
             "trainable": elements(parameter for parameter in module.parameters() if parameter.requires_grad)}
    if hasattr(config, "to_dict"):
        facts["config"] = json.loads(json.dumps(config.to_dict(), default=str))
        facts["attention"] = getattr(config, "_attn_implementation", None)
    quantized = quantization(module)
    if quantized:
        facts["quantization"] = quantized
        facts.get("config", {}).pop("quantization_config", None)  # the model's sizes; the rest is said here
    float8 = float8_recipe(module)
    if float8:
        facts["float8"] = float8
    if any(type(part).__name__ == "OptimizedModule" for part in module.modules()):
        facts["compiled"] = True
    untrained, trained = parts_by_training(model)
    if untrained and trained and not adapters(module):
        facts["untrained"], facts["trained"] = untrained, trained
    return facts


def parts_by_training(module, name=""):
    """(names of what is not trained, names of what is): as few modules and parameters as say it."""
    are_trained = {parameter.requires_grad for parameter in module.parameters()}
    if len(are_trained) < 2:
        return ([name] if are_trained == {False} else []), ([name] if are_trained == {True} else [])
    inside = f"{name}." if name else ""
    own = [(f"{inside}{each}", parameter.requires_grad) for each, parameter in module.named_parameters(recurse=False)]
    found = [each for each, is_trained in own if not is_trained], [each for each, is_trained in own if is_trained]
    for each, child in module.named_children():
        for names, more in zip(found, parts_by_training(child, inside + each)):
            names += more
    return found


def innermost(module):
    """The model of transformers among a module's wrappers, or the module itself."""
    transformers = sys.modules.get("transformers")
    kind = getattr(sys.modules.get("transformers.modeling_utils"), "PreTrainedModel", None) if transformers else None
    if kind is not None:
        for part in module.modules():
            if isinstance(part, kind):
                return part
    return module


def builder(module):
    """The name by which timm or torchvision make this model, and the classes of its head where they are others than the
    name's own; None for models of no library, and where no name of the library has as many parameters."""
    module = module.module if type(module).__name__ == "DistributedDataParallel" else module
    config = getattr(module, "pretrained_cfg", None) or getattr(module, "default_cfg", None) or {}
    if type(module).__module__.startswith("timm.") and config.get("architecture"):
        return _built("timm:" + config["architecture"], getattr(module, "num_classes", None), config.get("num_classes"))
    models = sys.modules.get("torchvision.models") if type(module).__module__.startswith("torchvision.models.") else None
    return _torchvision_builder(models, module) if models else None


def _torchvision_builder(models, module):
    """torchvision 0.29 models/_api.py: each builder's weights tell how many parameters it makes; a segmenter's those of its
    second head, too."""
    more = "(aux_loss=True)" if getattr(module, "aux_classifier", None) is not None else ""
    own = sum(parameter.numel() for parameter in module.parameters())
    head = next((part for part in reversed(list(module.modules())) if hasattr(part, "out_features")), None)
    for name in models.list_models():
        if models.get_model_builder(name).__module__ != type(module).__module__:
            continue
        for weights in models.get_model_weights(name):
            classes = len(weights.meta.get("categories") or ())
            others = (head.out_features - classes) * (head.in_features + 1) if head is not None and classes else 0
            if weights.meta.get("num_params") == own:
                return _built(f"torchvision:{name}{more}", None, None)
            if weights.meta.get("num_params") == own - others:
                return _built(f"torchvision:{name}{more}", head.out_features, classes)
    return None


def _built(name, classes, usual):
    return {"name": name, **({"classes": classes} if classes and classes != usual else {})}


def adapters(module):
    """PEFT's adapters, one dictionary each."""
    peft = sys.modules.get("peft")
    found = []
    for part in module.modules() if peft else ():
        if isinstance(part, peft.PeftModel):
            for config in part.peft_config.values():
                found.append({"kind": getattr(config.peft_type, "value", str(config.peft_type)),
                              "rank": getattr(config, "r", None), "dropout": getattr(config, "lora_dropout", 0.0),
                              "targets": _listed(getattr(config, "target_modules", None)),
                              "dora": bool(getattr(config, "use_dora", False)),
                              "modules_to_save": _listed(getattr(config, "modules_to_save", None)),
                              "config": _said(config.to_dict())})
            break
    return found


def quantization(module):
    """What bitsandbytes or torchao made of the linear layers: the first one's settings; None if there is none."""
    layers = [part for part in module.modules() if _is_quantized(part)]
    if not layers:
        return None
    packed = {id(layer.weight) for layer in layers}
    others = elements(parameter for parameter in module.parameters()
                       if id(parameter) not in packed and not parameter.requires_grad)
    return {**_settings_of(layers[0]), "others": others}


def float8_recipe(module):
    """"tensorwise" or "axiswise": what torchao scales in the first of its Float8Linear; None without."""
    kind = getattr(sys.modules.get("torchao.float8.float8_linear"), "Float8Linear", ())
    layer = next((part for part in module.modules() if isinstance(part, kind)), None)
    return layer and layer.config.cast_config_input.scaling_granularity.value


def _is_quantized(part):
    """PEFT's wrappers have the names of bitsandbytes' layers."""
    library = sys.modules.get("bitsandbytes")
    kinds = (library.nn.Linear4bit, library.nn.Linear8bitLt) if library else ()
    return isinstance(part, kinds) or _is_int8_weight_only(getattr(part, "weight", None))


def _is_int8_weight_only(weight):
    """torchao's Int8WeightOnlyConfig with a scale for each row, as it is by default."""
    library = sys.modules.get("torchao.quantization")
    kind = getattr(library, "Int8Tensor", ())
    return (isinstance(weight, kind) and weight.dim() == 2 and weight.act_quant_kwargs is None
            and list(weight.block_size) == [1, weight.shape[-1]])


def _settings_of(layer):
    if _is_int8_weight_only(layer.weight):
        return {"format": "int8-weight-only", "weights": type_name(layer.weight.dtype)}
    state = getattr(layer.weight, "quant_state", None)
    if state is None:
        return {"format": "int8"}
    return {"format": state.quant_type, "double_quant": bool(state.nested), "weights": type_name(state.dtype),
            "storage": type_name(layer.weight.dtype), "compute_dtype": type_name(layer.compute_dtype)}


def _said(settings):
    """What a configuration says, in JSON's types."""
    return {key: _plain(value) for key, value in settings.items() if value is not None and key != "runtime_config"}


def _plain(value):
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    value = getattr(value, "value", value)  # of an enum
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def _listed(names):
    return sorted(names) if isinstance(names, (set, list, tuple)) else names


def elements(parameters):
    """{type: elements}"""
    counts = Counter()
    for parameter in parameters:
        counts[type_name(parameter.dtype)] += parameter.numel()
    return dict(counts)


def type_name(dtype):
    """"bfloat16"; None for None."""
    return None if dtype is None else str(dtype).removeprefix("torch.")
