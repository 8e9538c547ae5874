"""What a forward pass was given: shapes, lengths, masks."""
import os
import sys

from .frames import variables

MOST = 256  # forward passes whose shapes are kept
_TOKENS = ("input_ids", "tokens", "inputs_embeds", "decoder_input_ids")
_LABELS = ("labels", "start_positions", "mask_labels")
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

    def has_labels(self):
        """Whether the model is given what it computes a loss of."""
        return any(name in self.tensors for name in _LABELS)

    def target(self):
        """Tokens in each sequence of labels, None where there are none."""
        labels = self.tensors.get("labels")
        return labels.shape[1] if labels is not None and labels.dim() == 2 else None

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
