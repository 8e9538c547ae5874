"""What a forward pass was given: shapes, lengths, masks."""
import os
import sys

from .frames import variables

MOST = 256  # forward passes whose shapes are kept
_TOKENS = ("input_ids", "tokens", "inputs_embeds", "decoder_input_ids")
_LABELS = ("labels", "start_positions", "mask_labels")
_PLACES = ("image_token_id", "image_token_index", "audio_token_id", "audio_token_index")
_CALLS = ("inner", "_call_impl")
_MODULES = os.path.join("torch", "nn", "modules", "module.py")


def arguments_of_call():
    """(args, kwargs) of the call of a module whose hook is running: global hooks are not given keywords."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name in _CALLS and frame.f_code.co_filename.endswith(_MODULES):
            args, kwargs = variables(frame, "args", "kwargs")
            return args or (), kwargs or {}
        frame = frame.f_back
    return (), {}


def is_tokens(torch, value):
    return isinstance(value, torch.Tensor) and value.dim() == 2 and not value.is_floating_point()


class Batch:
    """The tensors of one forward pass by name; those without one by position."""

    def __init__(self, torch, args, kwargs):
        self._torch = torch
        if len(args) == 1 and isinstance(args[0], dict):
            args, kwargs = (), {**args[0], **kwargs}
        named = {str(place): value for place, value in enumerate(args)}
        self._listed = [value for value in (*args, *kwargs.values()) if isinstance(value, (list, tuple))]
        self._classes = kwargs.get("class_labels") if isinstance(kwargs.get("class_labels"), (list, tuple)) else None
        self.tensors = {name: value for name, value in {**named, **kwargs}.items() if isinstance(value, torch.Tensor)}

    def tokens(self):
        """[sequences, tokens in each], or None for what is no text. Of [examples, choices, tokens]: examples and tokens."""
        for name in _TOKENS:
            value = self.tensors.get(name)
            if value is not None and value.dim() >= 2:
                has_choices = value.dim() == 3 and not value.is_floating_point()
                return [value.shape[0], value.shape[2 if has_choices else 1]]
        first = self.tensors.get("0")
        return list(first.shape) if first is not None and is_tokens(self._torch, first) else None

    def has_examples(self):
        """Whether there is more than labels, of which each example has one."""
        return any(tensor.dim() > 1 for tensor in self.tensors.values()) or bool(self.images())

    def places(self, config, host_value):
        """How many tokens of a sequence stand for an image or a sound; 0 where there are none or nobody can read them."""
        ids = self.tensors.get("input_ids")
        marks = [value for name in _PLACES for value in [getattr(config, name, None)] if isinstance(value, int)]
        if ids is None or ids.dim() != 2 or not marks or len(self.tensors) < 2:
            return 0
        held = ids if ids.is_cpu else host_value(ids)
        return 0 if held is None else max(int((held == mark).sum(-1).max()) for mark in marks)

    def grid(self, host_value):
        """[frames, rows, columns] of the patches of the first image; None where a model is told of none."""
        grid = self.tensors.get("image_grid_thw")
        if grid is None or grid.dim() != 2:
            return None
        held = grid if grid.is_cpu else host_value(grid)
        return None if held is None else [int(each) for each in held[0]]

    def has_labels(self):
        """Whether the model is given what it computes a loss of."""
        return any(name in self.tensors for name in _LABELS) or bool(self.objects())

    def target(self):
        """Tokens in each sequence of labels, None where there are none."""
        labels = self.tensors.get("labels")
        return labels.shape[1] if labels is not None and labels.dim() == 2 else None

    def images(self):
        """[height, width] of each, where they come in a list; empty elsewhere."""
        listed = [value for value in self._listed if value and all(self._is_image(each) for each in value)]
        return [list(each.shape[1:]) for each in listed[0]] if listed else []

    def _is_image(self, value):
        return isinstance(value, self._torch.Tensor) and value.dim() == 3 and value.is_floating_point()

    def objects(self):
        """How many a detector is told of in each image; empty where there are none: lists of dictionaries, as torchvision's and DETR's models take
        them, or lists of classes, as those that segment."""
        for value in self._listed:
            if value and all(isinstance(each, dict) and "boxes" in each for each in value):
                return [len(each["boxes"]) for each in value]
        return [len(each) for each in self._classes or ()]

    def shapes(self):
        return {name: list(tensor.shape) for name, tensor in self.tensors.items()}

    def mask(self, host_value):
        """"none", "full", "padded", "shaped" (made by the script: no [sequences, tokens]), or "unread".

        host_value: (tensor) -> what a tensor holds, on the host, or None
        """
        mask = self.tensors.get("attention_mask")
        if mask is None:
            return "none"
        if mask.dim() != 2:
            return "shaped"
        held = mask if mask.is_cpu else host_value(mask)
        return "unread" if held is None else "full" if bool((held != 0).all()) else "padded"
