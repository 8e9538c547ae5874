"""Models that are no architecture of transformers: a function in the user's file, and those of timm, torchvision and
diffusers by name.

What their scripts need to know (the block that FSDP shards, what a function takes and returns) is asked of the model
itself, made on meta in a process of its own.
"""
import dataclasses
import inspect
import json
import os
import re
import sys

from . import architectures, keywords, models
from .architectures import EXAMPLES, variety
from .architectures.photographs import PHOTOGRAPH
from .asking import asked
from .given import WORDS, given, like

LABEL = '"label": torch.tensor(0)'
CROSS_ENTROPY = 'torch.nn.functional.cross_entropy({outputs}, batch["label"])'
OWN_LOSS = """
def loss_of(outputs, batch):
    \"\"\"The model's own loss, or the mean of its first output.\"\"\"
    own = outputs.get("loss") if isinstance(outputs, dict) else getattr(outputs, "loss", None)
    return own if own is not None else next(leaf for leaf in tree_leaves(outputs) if leaf.requires_grad).float().mean()
"""


def has_head(named):
    """Whether it can be made with another number of classes."""
    return named["python"].partition(":")[0] in _CLASSIFIERS


def models_of(named, labels=0):
    """The ways to train a model, the likeliest first.

    named: {"python": "timm:NAME" or "/path/FILE.py:function", "batch": N, "seq": N, and what given.py reads}.
    labels: classes of its head; 0: its own. @raises asking.UnknownModel
    """
    library, _, name = named["python"].partition(":")
    sizes = given(named)
    if library in _CLASSIFIERS:
        name, given_keywords = keywords.called(name)
        head = {"num_classes": labels} if labels else {}
        return [_CLASSIFIERS[library](name, sizes, {**given_keywords, **head})]
    if library == "diffusers":
        name, head = (name, {}) if os.path.isdir(name) else keywords.called(name)
        return [_diffusers(name, head, sizes.image_size)]
    return _of_file(*named["python"].rsplit(":", 1), {"batch": named["batch"], "seq": named["seq"], **sizes.named()})


def block_in(model):
    """[module, class] of what is repeated in the model: of the classes named in _no_split_modules, else of those that
    stand at least twice in a list of modules, the one with most parameters."""
    named = set(getattr(model, "_no_split_modules", None) or ())
    sizes = {}
    for module in model.modules():
        for child in module.children():
            kind = type(child)
            is_listed = type(module).__name__ in ("ModuleList", "Sequential") and not kind.__module__.startswith("torch.nn")
            if kind.__name__ in named or (not named and is_listed and sum(type(c) is kind for c in module.children()) > 1):
                sizes[kind] = sizes.get(kind, 0) + sum(p.numel() for p in child.parameters())
    if not sizes:
        return None
    largest = max(sizes, key=sizes.get)
    return [largest.__module__, largest.__qualname__]


# ------------------------------------------------------------------------------------------ FILE.py:function

def _of_file(path, function, sizes):
    file = os.path.basename(path)
    found = asked(lambda: _facts_of_file(path, function, sizes))
    imports = _LOADED.format(path=path, folder=os.path.dirname(path), module=module_of(path), function=function)
    call = f"{function}({', '.join(f'{name}={sizes[name]}' for name in found['takes'])})"
    if found["returns"] == 1:
        return _of_architecture(imports, call, f"{file}:{function}", found, sizes)
    load = _LOADS["nested" if found.get("is_nested") else found["batch"]]
    fixes = tuple(name for name in sizes if name not in found["takes"])
    if found.get("has_turns"):
        return [models.Model(
            imports=imports + ("\nfrom torch.utils._pytree import tree_map" if found.get("is_nested") else ""),
            prepare=f"\n_, batch, turns = {call}", expression=f"{call}[0]", load=load, turns="turns(*model, batch)", batches="[batch] * {steps}",
            has_config=False, is_transformers=False, checkpointing="", fixes=fixes, sizes=frozenset(sizes), name=f"{file}:{function}")]
    names = ["_", "batch", "loss_of"][:found["returns"]]
    other = f"{function}({', '.join(f'{name}={{batch}}' if name == 'batch' else f'{name}={sizes[name]}' for name in found['takes'])})"
    brings_loss = found["returns"] == 3
    tree = [*(() if brings_loss else ["tree_leaves"]), *(["tree_map"] if found.get("is_nested") else [])]
    return [models.Model(
        imports=imports + (f"\nfrom torch.utils._pytree import {', '.join(tree)}" if tree else ""),
        prepare=("" if brings_loss else OWN_LOSS) + f"\n{', '.join(names)} = {call}", expression=f"{call}[0]",
        block=tuple(found["block"] or ()), loss="loss_of(outputs, batch)", load=load,
        call=_CALLS[found["batch"]].format(taken=_taken(found)), batches="[batch] * {steps}",
        other_batches=f"[{other}[1]] * {{steps}}", has_config=False, is_transformers=False,
        fixes=fixes, sizes=frozenset(sizes), name=f"{file}:{function}", fed=_OWN_BATCH)]


_OWN_BATCH = "the batch that it makes; what else a script keeps on the GPU (a second network, a replay buffer) is not counted"


def _of_architecture(imports, call, name, found, sizes):
    """A model of transformers without a batch is fed as the architecture is."""
    fixes = tuple(name for name in WORDS if name in sizes and name not in found["takes"])
    return [dataclasses.replace(model, imports=f"{model.imports}\n{imports}", expression=call, is_transformers=False, name=name,
                                block=tuple(found["block"] or ()), fixes=fixes, sizes=frozenset(sizes))
            for model in architectures.models_of(found["config"]) if model.name == found["class"]]


_LOADS = {"dict": "batch = {{name: value.to({device}) for name, value in batch.items()}}",
          "list": "batch = [value.to({device}) for value in batch]", "tensor": "batch = batch.to({device})",
          "nested": "batch = tree_map(lambda value: value.to({device}) if isinstance(value, torch.Tensor) else value, batch)"}
_CALLS = {"dict": "{{called}}(**{taken})", "list": "{{called}}(*batch{taken})", "tensor": "{{called}}(batch)"}
# A file may be called as no module can be.
_LOADED = """import importlib.util, sys
sys.path.insert(0, {folder!r})
spec = importlib.util.spec_from_file_location({module!r}, {path!r})
sys.modules[spec.name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules[spec.name])
{function} = sys.modules[spec.name].{function}"""


def module_of(path):
    """What a file is called as a module: like none that is installed."""
    return "file_" + re.sub(r"\W", "_", os.path.splitext(os.path.basename(path))[0])


def _taken(found):
    """The part of the batch that the forward takes, where a loss of the user's own takes the rest."""
    taken = found.get("taken")
    if found["batch"] == "dict":
        names = [_literal(name) for name in taken or ()]
        return "batch" if taken is None else f"{{{{name: batch[name] for name in ({', '.join(names)},)}}}}"
    return "" if taken is None else f"[:{taken}]"


def _facts_of_file(path, function, sizes):
    import importlib.util
    import torch
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location(module_of(path), path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    make = getattr(module, function, None)
    if make is None:
        raise LookupError(f"{os.path.basename(path)} has no function '{function}'")
    takes = [name for name in sizes if name in inspect.signature(make).parameters]
    made = make(**{name: sizes[name] for name in takes})
    if _is_of_transformers(made):
        return {"takes": takes, "returns": 1, "block": block_in(made), "class": type(made).__name__,
                "config": json.dumps({**made.config.to_dict(), "architectures": [type(made).__name__]})}
    if not isinstance(made, (tuple, list)) or len(made) not in (2, 3):
        raise TypeError(f"{function}() must return (model, batch) or (model, batch, loss function), or a model of "
                        f"transformers alone; it returned a {type(made).__name__}")
    model, batch = made[:2]
    kind = "dict" if isinstance(batch, dict) else "list" if isinstance(batch, (tuple, list)) else "tensor"
    if isinstance(model, (tuple, list)):
        return _facts_of_turns(function, made, {"takes": takes, "returns": 3, "batch": kind, "is_nested": is_nested(batch, kind, torch.Tensor)})
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"the first of what {function}() returns is a {type(model).__name__}, not a torch.nn.Module")
    return {"takes": takes, "returns": len(made), "batch": kind, "is_nested": is_nested(batch, kind, torch.Tensor), "block": block_in(model),
            "taken": taken_of(model, batch, kind) if len(made) == 3 else None}


def _facts_of_turns(function, made, facts):
    """Several models, with a generator that says in which order they are trained."""
    import torch
    strangers = [type(part).__name__ for part in made[0] if not isinstance(part, torch.nn.Module)]
    if strangers:
        raise TypeError(f"the first of what {function}() returns has a {strangers[0]}, which is no torch.nn.Module")
    if len(made) != 3 or not inspect.isgeneratorfunction(made[2]):
        raise TypeError(f"{function}() returns {len(made[0])} models; return (models, batch, turns) with a function turns(*models, batch) "
                        "that yields a model and its loss for each of their steps")
    return {**facts, "has_turns": True}


def is_nested(batch, kind, tensor):
    """Whether values of a batch are no tensors themselves: the states of a recurrent layer are pairs, masks may be None."""
    values = batch.values() if kind == "dict" else batch if kind == "list" else ()
    return any(not isinstance(value, tensor) for value in values)


def taken_of(model, batch, kind):
    """The names of a batch that the forward takes, or how many of its values; None: all of them."""
    known = list(inspect.signature(model.forward).parameters.values())
    if kind == "dict" and all(value.kind is not value.VAR_KEYWORD for value in known):
        names = [name for name in batch if name in {value.name for value in known}]
        return None if len(names) == len(batch) else names
    if kind == "list" and all(value.kind is not value.VAR_POSITIONAL for value in known):
        return len(known) if len(known) < len(batch) else None
    return None


def _is_of_transformers(made):
    config = getattr(made, "config", None)
    return hasattr(config, "model_type") and hasattr(config, "to_dict")


# ------------------------------------------------------------------------------------------ libraries

def _classifier(imports, expression, name, facts, **more):
    """expression: makes the model, with {arguments}."""
    channels, height, width = facts["input"]
    return models.Model(
        imports=imports, prepare="", expression=expression.format(arguments=_keywords(facts["arguments"])), sizes=frozenset(["image_size"]),
        block=tuple(facts["block"] or ()), data=EXAMPLES,
        fields=f'"image": torch.randn({channels}, {height}, {width}{{floats}}), {facts["label"]}', dataset="Examples()",
        call='{called}(batch["image"])', loss=facts["loss"], has_config=False, is_transformers=False, name=name,
        fed=f"images of {channels} x {height} x {width}", **more)


def _keywords(arguments):
    return "".join(f", {key}={tuple(value) if isinstance(value, list) else value!r}" for key, value in arguments.items())


def _literal(name):
    """A name as text of a script that is formatted once more: it may come from a file, and is never code there."""
    return json.dumps(name).replace("{", "{{").replace("}", "}}")


def _timm(name, given, head):
    size = given.image_size

    def facts():
        import timm
        model = timm.create_model(name)
        # of models that are made for one size: timm's models/_builder.py
        arguments = {**({"img_size": size} if size and model.pretrained_cfg.get("fixed_input_size") else {}), **head}
        model = timm.create_model(name, **arguments) if arguments else model
        channels, *edges = model.pretrained_cfg.get("input_size") or (3, 224, 224)
        return {"input": [_whole("input_size", edge) for edge in (channels, *(size or edges))], "arguments": arguments, "block": block_in(model),
                "label": LABEL, "loss": CROSS_ENTROPY.format(outputs="outputs")}
    return _classifier("import timm", f"timm.create_model({_literal(name)}{{arguments}})", f"timm:{name}", asked(facts),
                       checkpointing="model.set_grad_checkpointing()")


# Of models that are made for one size (VisionTransformer, MaxVit): the argument, and what it is of height and width.
_MADE_FOR = {"image_size": max, "input_size": list}
_OUTPUTS = {"classification": ("outputs", LABEL), "segmentation": ('outputs["out"]', '"label": torch.zeros({size}, dtype=torch.long)')}


def _torchvision(name, given, head):
    facts = asked(lambda: _facts_of_torchvision(name, given.image_size, head))
    expression, called = f"torchvision.models.get_model({_literal(name)}, weights=None{{arguments}})", f"torchvision:{name}"
    if facts.get("target") and given.varied and not given.image_size:
        return _detector_of_several(expression, called, facts)
    return _detector(expression, called, facts, given.objects or _OBJECTS) if facts.get("target") else _classifier("import torchvision", expression, called, facts)


def _facts_of_torchvision(name, size, head):
    import torchvision
    builder = torchvision.models.get_model_builder(name)
    # which would be downloaded, unlike weights that are not asked for
    backbone = inspect.signature(builder).parameters.get("weights_backbone")
    scratch = {"weights_backbone": None} if backbone else {}
    model = torchvision.models.get_model(name, weights=None, **scratch)
    module = type(model).__module__
    if any(word in module for word in ("video", "optical_flow", "quantization")):
        raise LookupError(f"torchvision:{name} is no classifier, segmenter or detector of images; give a FILE.py:function "
                          "that makes the model and its batch")
    detects = "detection" in module
    preset = next(iter(torchvision.models.get_model_weights(name))).transforms()
    edge = getattr(preset, "crop_size", [224])[0]
    height, width = size or (PHOTOGRAPH if detects else (edge, edge))
    is_pretrained = detects and backbone is not None and backbone.default and "weights_backbone" not in head
    pretrained = _network_of(backbone.default) if is_pretrained else None
    of_size = {key: make(size) for key, make in _MADE_FOR.items() if size and key in inspect.signature(type(model)).parameters}
    arguments = {**({} if pretrained else scratch), **of_size, **_largest(model), **head}
    outputs, label = _OUTPUTS["segmentation" if "segmentation" in module else "classification"]
    loss = CROSS_ENTROPY.format(outputs=outputs)
    if "segmentation" in module and head.get("aux_loss"):  # torchvision 0.29, references/segmentation/train.py criterion
        loss += " + 0.5 * " + CROSS_ENTROPY.format(outputs='outputs["aux"]')
    return {"input": [3, height, width], "arguments": arguments, "block": block_in(model), "target": _target(module) if detects else [],
            "turns": detects and size is None,
            "backbone": pretrained,
            "label": label.format(size=f"{height}, {width}"), "loss": loss}


def _largest(model):
    """Of a detector that scales each image to a size that it draws: a long run meets the largest."""
    sizes = getattr(getattr(model, "transform", None), "min_size", None) or ()
    return {"min_size": max(sizes)} if len(sizes) > 1 else {}


def _network_of(weights):
    """{"class", "name"}: of an enumeration of weights, and of the network that they are for."""
    import torchvision
    names = torchvision.models.list_models(module=torchvision.models)
    return {"class": type(weights).__name__, "name": next(name for name in names
                                                          if torchvision.models.get_model_weights(name) is type(weights))}


# In the place of a download. Whoever asks for pretrained weights, as is the builders' default, trains the last layers of the
# backbone alone, with frozen norms (torchvision 0.29, models/detection/backbone_utils.py _validate_trainable_layers).
_UNTRAINED_WEIGHTS = """
torchvision.models.{class}.get_state_dict = lambda weights, *args, **kwargs: torchvision.models.get_model("{name}").state_dict()"""


# COCO: 860,001 boxes lie in 117,266 images (instances_train2017.json).
_OBJECTS = 7


def _target(module):
    """What a detector learns beside boxes and classes: torchvision's models/detection, "targets"."""
    more = [key for key, word in (("masks", "mask_rcnn"), ("keypoints", "keypoint_rcnn")) if word in module]
    return ["boxes", "labels", *more]


def _detector(expression, name, facts, objects):
    """Images of any sizes with the objects in each: lists, which no loader stacks. Its losses are a dictionary."""
    _, height, width = facts["input"]
    backbone = facts.get("backbone")
    trained = "the last layers of its pretrained backbone are trained" if backbone else "all layers of its backbone are trained"
    boxes = [[width * i // 14, height * i // 14, width * (i + 7) // 14, height * (i + 7) // 14] for i in (each % _OBJECTS for each in range(objects))]
    rows = {"boxes": f"torch.tensor({boxes}, dtype=torch.float32)", "labels": f"torch.ones({objects}, dtype=torch.long)",
            "masks": f"torch.ones({objects}, {height}, {width}, dtype=torch.uint8)", "keypoints": f"torch.ones({objects}, 17, 3)"}
    target = ", ".join(f'"{key}": {rows[key]}' for key in facts["target"])
    prepare = f"image = torch.rand(3, {height}, {width})\ntarget = {{{target}}}"
    batch, what = "[image] * {batch}, [target] * {batch}", f"images of 3 x {height} x {width}"
    if facts.get("turns"):  # a batch is as high as its highest image and as wide as its widest
        prepare += "\n" + _TURNED.format(masks='\nturned["masks"] = target["masks"].mT' * ("masks" in rows and "masks" in facts["target"]))
        batch, what = "([image, image.mT] * {batch})[:{batch}], ([target, turned] * {batch})[:{batch}]", what + ", every other one upright"
    return _detecting(expression, name, facts, prepare, f"[({batch})] * {{steps}}", f"{what} with {objects} boxes each; {trained}")


def _detecting(expression, name, facts, prepare, batches, fed):
    """prepare: lines that make what `batches` is an expression of."""
    backbone = facts.get("backbone")
    return models.Model(
        imports="import torchvision\nfrom torch.utils._pytree import tree_map", prepare=prepare + (_UNTRAINED_WEIGHTS.format(**backbone) if backbone else ""),
        expression=expression.format(arguments=_keywords(facts["arguments"])), sizes=frozenset(["image_size", "objects"]),
        block=tuple(facts["block"] or ()), batches=batches, load=_LOADS["nested"],
        call="{called}(*batch)", loss="sum(outputs.values())", has_config=False, is_transformers=False, name=name, checkpointing="", varies=True, fed=fed)


_SEVERAL = """
def photograph(number):
    (height, width), objects = {sizes}[number % {sizes_count}], {objects}[number % {objects_count}]
    boxes = torch.tensor([0, 0, 0.5, 0.5]) + torch.rand(objects, 1) / 2
    rows = {{"boxes": boxes * torch.tensor([width, height, width, height]), "labels": torch.ones(objects, dtype=torch.long),
            "masks": torch.ones(objects, height, width, dtype=torch.uint8), "keypoints": torch.ones(objects, 17, 3)}}
    return torch.rand(3, height, width), {{name: rows[name] for name in {target}}}


def batch_of(size, step):
    return tuple(list(part) for part in zip(*(photograph(step * size + i) for i in range(size))))

"""


def _detector_of_several(expression, name, facts):
    """Each image is another photograph of COCO's, with its own objects."""
    prepare = _SEVERAL.format(sizes=variety.PHOTOGRAPHS, sizes_count=len(variety.PHOTOGRAPHS), objects=variety.OBJECTS,
                              objects_count=len(variety.OBJECTS), target=facts["target"])
    return _detecting(expression, name, facts, prepare, "(batch_of({batch}, step) for step in range({steps}))",
                      f"photographs of several sizes, lying and standing, with {min(variety.OBJECTS)} to {max(variety.OBJECTS)} boxes each")


# The same photograph upright, with its boxes.
_TURNED = """turned = {{**target, "boxes": target["boxes"][:, [1, 0, 3, 2]]}}{masks}"""


def _diffusers(name, head, size):
    is_folder = os.path.isdir(name)
    facts = asked(lambda: _facts_of_diffusers(name, head, is_folder, size))
    cls = facts["class"]
    more = _keywords({**head, **({"sample_size": facts["sample_size"]} if size else {})})
    made = f"{cls}.from_config({cls}.load_config({json.dumps(os.path.abspath(name))}){more})" if is_folder \
        else f"{cls}({more.removeprefix(', ')})"
    fields = ", ".join(f'"{key}": {value}' for key, value in facts["fields"].items())
    return models.Model(
        imports=f"from diffusers import {cls}", prepare="", expression=made, block=tuple(facts["block"] or ()),
        data=EXAMPLES, fields=fields, dataset="Examples()", call="{called}(**batch)",
        loss="outputs[0].float().pow(2).mean()", has_config=False, is_transformers=False, name=f"diffusers:{name}",
        sizes=frozenset(["image_size"]),
        checkpointing="model.enable_gradient_checkpointing()", fed=", ".join(facts["fields"]),
        assumed="" if is_folder or head else _DEFAULTS_OF_CLASS.format(name=name, defaults=facts["defaults"], first=facts["defaults"].partition("=")[0]))


# Scripts name most of these; the defaults are those of no published model.
_TELLING = ("sample_size", "block_out_channels", "layers_per_block", "num_layers", "num_attention_heads", "attention_head_dim", "cross_attention_dim", "latent_channels")
_DEFAULTS_OF_CLASS = ("{name} is made as its class makes it by default ({defaults}), and few scripts do so: name what the script says, as "
                      "--model \"diffusers:{name}({first}=...)\", or the folder of its config.json")


def _told(config):
    """The keywords that decide most of a model's size, with their values."""
    return ", ".join(f"{key}={tuple(value) if isinstance(value, list) else value}" for key, value in config.items() if key in _TELLING)


def _facts_of_diffusers(name, head, is_folder, size):
    import diffusers
    kind = json.load(open(os.path.join(name, "config.json")))["_class_name"] if is_folder else name
    cls = getattr(diffusers, kind, None)
    if cls is None:
        raise LookupError(f"diffusers has no class '{kind}'")
    model = cls.from_config(cls.load_config(name), **head) if is_folder else cls(**head)
    sample_size = None
    if size:
        if "sample_size" not in model.config:
            raise LookupError(f"{kind} has no sample_size: --image-size says nothing to it; omit it")
        sample_size = like(model.config["sample_size"], size)
        model = cls.from_config(model.config, sample_size=sample_size)
    return {"class": kind, "block": block_in(model), "fields": _noise(model), "sample_size": sample_size, "defaults": _told(model.config)}


def _whole(name, value):
    """@raises LookupError for what would be text in a script"""
    if not isinstance(value, int) or isinstance(value, bool):
        raise LookupError(f"{name} {value!r} is not a whole number")
    return value


def _noise(model):
    """Latents, a time, and what conditions the model."""
    config = model.config
    found = lambda *names, default: next((config[key] for key in names if config.get(key)), default)  # noqa: E731
    get = lambda *names, default: _whole(names[0], found(*names, default=default))  # noqa: E731
    size = found("sample_size", default=64)
    height, width = (_whole("sample_size", edge) for edge in (size if isinstance(size, (list, tuple)) else (size, size)))
    channels = get("in_channels", default=4)
    text, tokens = found("cross_attention_dim", "joint_attention_dim", "caption_channels", default=768), 77
    text = _whole("cross_attention_dim", text[0] if isinstance(text, (list, tuple)) else text)
    known = inspect.signature(model.forward).parameters
    is_sequence = "img_ids" in known  # latents as a sequence of patches, with the place of each
    axes = len(found("axes_dims_rope", default=(0, 0, 0)))
    rows = {
        "sample": f"torch.randn({channels}, {height}, {width}{{floats}})",
        "hidden_states": f"torch.randn({height * width // 4}, {channels}{{floats}})" if is_sequence else
                         f"torch.randn({channels}, {height}, {width}{{floats}})",
        "timestep": "torch.tensor(0)" if not is_sequence else "torch.rand((){floats})",
        "encoder_hidden_states": f"torch.randn({tokens}, {text}{{floats}})",
        "img_ids": f"torch.zeros({height * width // 4}, {axes}{{floats}})",
        "txt_ids": f"torch.zeros({tokens}, {axes}{{floats}})",
        "pooled_projections": f"torch.randn({get('pooled_projection_dim', default=768)}{{floats}})",
        "guidance": "torch.ones((){floats})", "class_labels": "torch.tensor(0)",
    }
    needed = {key for key, value in known.items() if value.default is value.empty}
    needed.update(key for key in ("encoder_hidden_states", "pooled_projections", "timestep", "img_ids", "txt_ids")
                  if key in known)
    if not config.get("cross_attention_dim") and "sample" in known:
        needed.discard("encoder_hidden_states")
    if config.get("guidance_embeds"):
        needed.add("guidance")
    missing = [key for key in known if key in needed and key not in rows]
    if missing:
        raise LookupError(f"{type(model).__name__} takes {', '.join(missing)}; give a FILE.py:function that makes the model "
                          "and its batch")
    return {key: rows[key] for key in known if key in needed}


_CLASSIFIERS = {"timm": _timm, "torchvision": _torchvision}
