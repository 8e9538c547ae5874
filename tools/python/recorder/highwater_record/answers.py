"""Answers for values that the script reads from the device, instead of zeros.

  nonzero=COUNT   nonzero, where, masked_select and indexing by masks find COUNT elements; below 1: that share
  item=VALUE      item(), float(x), bool(x) and similar calls return VALUE
"""
import struct

from torch.utils._python_dispatch import TorchDispatchMode

from . import answers_text


class Steering(TorchDispatchMode):
    """While entered, every such read on the device gets its answer. Operators of the backward pass run outside it."""

    def __init__(self, torch, control, text):
        super().__init__()
        self._control = control
        self._answers = answers_text.parse(text)
        aten = torch.ops.aten
        self._selecting = (aten.nonzero.default, aten.masked_select.default)
        self._indexing = (aten.index.Tensor, aten.index_put_.default, aten.index_put.default)
        self._item = aten._local_scalar_dense.default
        self._mask_types = (torch.bool, torch.uint8)
        self._packing = {torch.float32: "<f", torch.float64: "<d", torch.float16: "<e", torch.int64: "<q",
                         torch.int32: "<i", torch.int16: "<h", torch.int8: "<b", torch.uint8: "<B", torch.bool: "<?"}
        self._bfloat16 = torch.bfloat16

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        answered = self._prepare(function, args)
        try:
            return function(*args, **(kwargs or {}))
        finally:
            if answered:
                self._control.fakecuda_forget_answers()

    def _prepare(self, function, args):
        if "nonzero" in self._answers:
            masks = self._masks(function, args)
            for mask in masks:
                self._answer(struct.pack("<i", self._count(mask.numel())))
            if masks:
                return True
        if "item" in self._answers and function is self._item and args[0].is_cuda:
            self._answer(self._packed(args[0].dtype))
            return True
        return False

    def _masks(self, function, args):
        if function in self._selecting:
            masks = [args[-1]]
        elif function in self._indexing:
            masks = [index for index in args[1] if index is not None and index.dtype in self._mask_types]
        else:
            masks = []
        return [mask for mask in masks if mask.is_cuda]

    def _count(self, elements):
        wanted = self._answers["nonzero"]
        return min(elements, int(wanted * elements if wanted < 1 else wanted))

    def _packed(self, dtype):
        value = self._answers["item"]
        if dtype is self._bfloat16:
            return struct.pack("<f", value)[2:]
        packing = self._packing.get(dtype)
        if packing is None:
            return b""
        return struct.pack(packing, value if packing[1] in "fde" else bool(value) if packing[1] == "?" else int(value))

    def _answer(self, data):
        if data:
            self._control.fakecuda_answer(data, len(data))
