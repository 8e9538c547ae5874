"""What a model is fed: the parameters of its forward that it needs, each with an expression that makes one example.

Which: those without a default, the class's main_input_name, one for each of its input_modalities, and what these bring
along. Their shapes: the rules below where the configuration decides, else the documentation of the forward.
"""
import dataclasses
import inspect

from .sizes import PIXELS, Unknown, dimension, documented, whole

MODALITIES = {"text": ("input_ids",), "image": ("pixel_values", "image", "images"),
              "video": ("pixel_values_videos", "pixel_values"), "time": ("past_values",),
              "audio": ("input_features", "input_values", "audio_values")}
# Given wherever a forward has them: processors and tokenizers of these models always return them.
COMPANIONS = ("bbox", "image_grid_thw", "image_grid_hw", "video_grid_thw", "image_sizes", "spatial_shapes", "pixel_attention_mask",
              "input_features_mask", "mm_token_type_ids", "decoder_input_ids", "decoder_input_values", "speaker_embeddings",
              "visual_feats", "visual_pos")


CHOICES = 4  # of an example: the endings of SWAG, the answers of RACE


@dataclasses.dataclass(frozen=True)
class Batch:
    fields: dict         # parameter -> expression of an example, with {seq}
    constants: str = ""  # further arguments of the call
    arranges: tuple = ()  # lines that give a collated batch the form that the forward takes
    loss: str = ""       # of the outputs; empty: the model's own


@dataclasses.dataclass(frozen=True)
class Form:
    """What neither the configuration nor the documentation tells of a class's inputs."""
    leaves_out: tuple = ()      # modalities and parameters
    parts: int = 0              # images or channels of an example, for which its values have a dimension
    features: str = ""          # "frames": (frames, bins); "bins": (bins, frames); else as documented


def forms_of(cls):
    """The forms that the inputs of a class may have, the likeliest first: with all that it takes, then with text alone."""
    known, kinds = parameters(cls), modalities(cls)
    others = tuple(kind for kind in kinds if kind != "text")
    omitted = [(), *([("image_sizes",)] if "image_sizes" in known else [])]
    has_parts = "pixel_values" in known or "input_values" in known
    forms = [Form(names, parts, features) for names in omitted for parts in ((0, 1) if has_parts else (0,))
             for features in (("", "frames", "bins") if "input_features" in known else ("",))]
    return [*forms, *([Form(others)] if others and "text" in kinds else [])]


def parameters(cls):
    return {name: value for name, value in inspect.signature(cls.forward).parameters.items()
            if name != "self" and value.kind not in (value.VAR_POSITIONAL, value.VAR_KEYWORD)}


def modalities(cls):
    named = getattr(cls, "input_modalities", None) or ()
    return (named,) if isinstance(named, str) else tuple(named)


def wanted(cls, with_labels, leaves_out=()):
    """Names of the parameters that are given, in the order of the forward.

    leaves_out: modalities and parameters.
    """
    known = parameters(cls)
    names = {name for name, value in known.items() if value.default is value.empty}
    main = getattr(cls, "main_input_name", "input_ids")
    names.update([main] if isinstance(main, str) else main)
    given = [kind for kind in modalities(cls) if kind not in leaves_out]
    for kind in given:
        if kind == "video" and "image" in given:
            continue  # an image is the shortest video
        names.update([name for name in MODALITIES.get(kind, ()) if name in known][:1])
    for kind in leaves_out:
        names.difference_update(MODALITIES.get(kind, ()))
    has_image = any(name in names for name in MODALITIES["image"])
    for name in COMPANIONS:
        of_image, of_sound = name.startswith(("image_", "pixel_", "spatial_")), name.startswith("input_features")
        if (of_image and not has_image) or (of_sound and "input_features" not in names) or name == "video_grid_thw":
            continue
        if name.startswith("decoder_") and with_labels:  # the labels, shifted
            continue
        names.add(name)
    names.difference_update(leaves_out)
    return [name for name in known if name in names]


class Inputs:
    """Expressions for the inputs of a class."""

    def __init__(self, cls, sizes, form=Form(), choices=0):
        """choices: sequences of an example, one of which is right; 0: it is one sequence."""
        self.cls, self.sizes, self.form, self.choices = cls, sizes, form, choices
        self.parameters = parameters(cls)
        self.shapes = documented(cls.forward)
        self.has_grid = any(name in self.parameters for name in ("image_grid_thw", "image_grid_hw", "grid_thw"))
        self.arranges = []
        self.places = 0  # of a sequence that stand for an image or a sound
        self.place_token = None

    def tokens(self):
        low, high = self._ids()
        drawn = f"torch.randint({low}, {high}, ({self.of_choices('{seq}')},))"
        if not self.places:
            return drawn
        return f"torch.cat([torch.full(({self.places},), {self.place_token}), {drawn}])"

    def _ids(self):
        """The longest range of tokens that stand for nothing but text."""
        vocabulary = self.sizes.vocabulary or 1000
        special = sorted({value for value in special_tokens(self.sizes.config) if 0 <= value < vocabulary})
        ends = [-1, *special, vocabulary]
        low, high = max(zip(ends, ends[1:]), key=lambda pair: pair[1] - pair[0])
        return (low + 1, high) if special else (0, vocabulary)

    def of(self, name):
        """@raises Unknown"""
        rule = _RULES.get(name)
        made = rule(self) if rule else None
        return made if made is not None else self.of_documentation(name)

    def of_choices(self, length):
        return f"{self.choices}, {length}" if self.choices else length

    def length(self):
        return f"{self.places} + {{seq}}" if self.places else "{seq}"

    def of_documentation(self, name, whole="zeros"):
        """whole: what whole numbers are. @raises Unknown"""
        if name not in self.shapes:
            raise Unknown(f"'{name}', whose shape its documentation does not tell")
        kind, words = self.shapes[name]
        annotated = str(self.parameters[name].annotation)
        is_sound = "input_features" in name or "values" in name and "pixel" not in name and "past" not in name
        own = getattr(self.sizes.config, f"{name.partition('_')[0]}_seq_len", None)  # OneFormer's task_seq_len
        own = own or self.sizes.series(name)
        numbers = (self.sizes.time_features(word, name) or dimension(word, self.sizes, is_sound) for word in words[1:])
        shape = ", ".join(str(own if own and number == "{seq}" else number) for number in numbers)
        if "Bool" in kind + annotated or name.endswith("mask"):
            return f"torch.ones({shape}, dtype=torch.bool)"
        if "Long" in kind + annotated or "Int" in kind + annotated or name.endswith("_ids"):
            return f"torch.{whole}({shape}, dtype=torch.long)"
        return f"torch.randn({shape}{{floats}})"

    def image(self):
        """Pixels: one image, or the patches of one where the forward takes its grid."""
        sizes = self.sizes
        if self.has_grid:
            rows, columns, _ = sizes.patches()
            self.arranges.append('batch["pixel_values"] = batch["pixel_values"].flatten(0, 1)')
            return f"torch.randn({rows * columns}, {sizes.of_patch()}{{floats}})"
        words = self.shapes.get("pixel_values", ("", []))[1]
        is_one = (len(words) != 5) == (self.form.parts == 0)  # else frames of a video, or parts of an image
        leading = "" if is_one else f"{sizes.images or 1}, "
        if sizes.several:
            sizes.used.add("image_size")
            return f"torch.randn({leading}{sizes.channels}, *{sizes.several}{{floats}})"
        return f"torch.randn({leading}{sizes.channels}, {sizes.height}, {sizes.width}{{floats}})"

    def features(self):
        """A spectrogram."""
        words = [word for word in self.shapes.get("input_features", ("", []))[1][1:] if word.isidentifier()]
        form = self.form.features
        if not form and len(words) == 2:
            form = "bins" if any(word in words[0] for word in ("bins", "feature_", "mel")) else "frames"
        bins, frames = self.sizes.bins, self.sizes.spectrogram
        shapes = {"frames": f"{frames}, {bins}", "bins": f"{bins}, {frames}"}
        return f"torch.randn({shapes[form]}{{floats}})" if form else None

    def waveform(self):
        """As documented, with a dimension of channels where the form says so."""
        made = self.of_documentation("input_values")
        return made.replace("torch.randn(", "torch.randn(1, ", 1) if self.form.parts else made

    def flattened(self):
        """Patches, each with its row and column in front."""
        edge = self.sizes.channels * whole(self.sizes.config, PIXELS, "patch_size", default=16) ** 2
        return f"torch.randn({{seq}}, {edge + 2}{{floats}})"

    def grid(self, leading):
        rows, columns, _ = self.sizes.patches()
        return f"torch.tensor([{leading}{rows}, {columns}])"

    def types(self):
        """1 where an image stands."""
        if self.places:
            return f"torch.cat([torch.ones({self.places}, dtype=torch.long), torch.zeros({{seq}}, dtype=torch.long)])"
        return f"torch.zeros({self.of_choices('{seq}')}, dtype=torch.long)"


def special_tokens(config):
    """Ids of tokens that stand for something else than text."""
    from .sizes import parts
    for part in parts(config):
        for name, value in vars(part).items():
            if name.endswith(("_token_id", "_token_index")) and isinstance(value, int) \
                    and any(word in name for word in ("image", "video", "audio", "vision")):
                yield value


_RULES = {
    "input_features": Inputs.features,
    "input_values": Inputs.waveform,
    "flattened_patches": Inputs.flattened,
    "input_features_mask": lambda inputs: f"torch.ones({inputs.sizes.spectrogram}, dtype=torch.long)",
    "input_ids": lambda inputs: inputs.tokens() if inputs.sizes.vocabulary else None,
    "decoder_input_ids": lambda inputs: inputs.tokens(),
    "attention_mask": lambda inputs: f"torch.ones({inputs.of_choices(inputs.length())}, dtype=torch.long)",
    "pixel_values": Inputs.image,
    "image_grid_thw": lambda inputs: inputs.grid("1, "),
    "image_grid_hw": lambda inputs: inputs.grid(""),
    "spatial_shapes": lambda inputs: inputs.grid(""),
    "image_sizes": lambda inputs: f"torch.tensor([{inputs.sizes.height}, {inputs.sizes.width}])",
    "mm_token_type_ids": Inputs.types,
    "token_type_ids": Inputs.types,
}


# ------------------------------------------------------------------------------------------ labels

def _tokens(inputs):
    low, high = inputs._ids()
    length = "{target}" if has_targets(inputs.sizes.config) else inputs.length()
    return {"labels": f"torch.randint({low}, {high}, ({length},))"}


def _boxes(inputs):
    inputs.arranges.append('batch["labels"] = [{"class_labels": classes, "boxes": boxes} for classes, boxes in '
                           'zip(batch.pop("classes"), batch.pop("boxes"))]')
    objects = inputs.sizes.objects
    return {"classes": f"torch.zeros({objects}, dtype=torch.long)", "boxes": f"torch.full(({objects}, 4), 0.5)"}


def _masks(inputs):
    inputs.arranges.append('batch["mask_labels"], batch["class_labels"] = list(batch["mask_labels"]), '
                           'list(batch["class_labels"])')
    objects = inputs.sizes.objects
    return {"mask_labels": f"torch.ones({objects}, {inputs.sizes.height}, {inputs.sizes.width})",
            "class_labels": f"torch.arange({objects})"}


def _pixels(inputs):
    return {"labels": f"torch.zeros({inputs.sizes.height}, {inputs.sizes.width}, dtype=torch.long)"}


def _patches(inputs):
    """Which of an image's patches are hidden."""
    edge = whole(inputs.sizes.config, PIXELS, "patch_size", default=16)
    return {"bool_masked_pos": f"torch.ones({(inputs.sizes.height // edge) * (inputs.sizes.width // edge)}, dtype=torch.long)"}


def _class(inputs):
    """One class, or a number for each where the configuration's problem_type says so."""
    problem = getattr(inputs.sizes.config, "problem_type", None)
    classes = whole(inputs.sizes.config, (), "num_labels", default=1)
    many = problem == "multi_label_classification" or (problem == "regression" and classes > 1)
    made = f"torch.zeros({classes})" if many else "torch.tensor(0.0)" if problem == "regression" else "torch.tensor(0)"
    return {"labels": made}


def _future(inputs):
    """What is to be foretold, with what is known of that time, and what holds for the whole series."""
    config = inputs.sizes.config
    fields = {name: inputs.of(name) for name in ("future_values", "future_time_features") if name in inputs.parameters}
    sorts, numbers = (whole(config, (), f"num_static_{kind}_features", default=0) for kind in ("categorical", "real"))
    return {**fields, **({"static_categorical_features": f"torch.zeros({sorts}, dtype=torch.long)"} if sorts else {}),
            **({"static_real_features": f"torch.randn({numbers}{{floats}})"} if numbers else {})}


LABELS = {
    "tokens": _tokens,
    "future": _future,
    "characters": lambda inputs: {"labels": f"torch.randint(1, {inputs.sizes.vocabulary or 32}, (8,))"},
    "class": _class,
    "choice": lambda inputs: {"labels": "torch.tensor(0)"},
    "classes": lambda inputs: {"labels": "torch.zeros({seq}, dtype=torch.long)"},
    "ends": lambda inputs: {"start_positions": "torch.tensor(0)", "end_positions": "torch.tensor(0)"},
    "pixels": _pixels,
    "patches": _patches,
    "depths": lambda inputs: {"labels": f"torch.ones({inputs.sizes.height}, {inputs.sizes.width})"},
    "boxes": _boxes,
    "masks": _masks,
}
_NAMES = {"masks": "mask_labels", "patches": "bool_masked_pos", "ends": "start_positions", "future": "future_values"}  # of those that are not called labels
FIRST_OUTPUT = 'next(leaf for leaf in tree_leaves(outputs) if getattr(leaf, "requires_grad", False)).float().mean()'


def batch_of(inputs, labels):
    """A batch of the class; labels: how they look, or "none". @raises Unknown"""
    own = _own_labels(inputs, labels)
    names = wanted(inputs.cls, own is not None, inputs.form.leaves_out)
    fields = {name: inputs.of(name) for name in names}
    if own is None:
        return Batch(fields, arranges=tuple(inputs.arranges), loss=FIRST_OUTPUT)
    constants = ", return_loss=True" if labels == "pairs" else ""
    return Batch({**fields, **own}, constants, tuple(inputs.arranges))


def _own_labels(inputs, labels):
    """The labels' expressions; None where the forward takes none."""
    if labels == "pairs":
        return {} if "return_loss" in inputs.parameters else None
    if labels == "parts":
        return {name: inputs.of_documentation(name, whole="ones") for name in label_parts(inputs.cls)}
    if labels == "none" or _NAMES.get(labels, "labels") not in inputs.parameters:
        return None
    return LABELS[labels](inputs)


def mask_of(inputs, batch):
    """The field of a batch of text that says which tokens are padding, with {hidden}; empty where it takes none."""
    known = inputs.parameters
    if "attention_mask" not in known or "attention_mask" in batch.fields:
        return ""
    if masked_of(inputs, batch):
        return f'"attention_mask": torch.ones({inputs.sizes.samples}, dtype=torch.long){{hidden}}, '
    if "input_ids" not in batch.fields:
        return ""
    ones = f"torch.ones({inputs.of_choices(inputs.length())}, dtype=torch.long)"
    return f'"attention_mask": {ones}{{hidden}}, '


def masked_of(inputs, batch):
    """How long a mask of a sound is; empty: it is none of a sound."""
    return str(inputs.sizes.samples) if set(batch.fields) & {"input_values"} and "input_ids" not in batch.fields and not inputs.form.parts else ""


def has_targets(config):
    """Whether a decoder of its own has sequences beside those of the encoder."""
    return bool(getattr(config, "is_encoder_decoder", False))


def label_parts(cls):
    """Labels that a class takes one by one, where it takes none called so: durations, pitches, ..."""
    known = parameters(cls)
    parts = [name for name in documented(cls.forward) if name.endswith("_labels") and name in known]
    return parts if len(parts) > 1 and "labels" not in known else []
