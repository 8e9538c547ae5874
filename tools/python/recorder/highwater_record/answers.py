"""What the user says of values that nobody knows: --answers nonzero=COUNT,item=VALUE.

  nonzero=COUNT   nonzero, where, masked_select and indexing by masks find COUNT elements; below 1: that share
  item=VALUE      item(), float(x), bool(x) and similar calls return VALUE
"""
import struct

from . import answers_text


class Answers:
    def __init__(self, torch, text):
        self._given = answers_text.parse(text) if text else {}
        self._packing = {torch.float32: "<f", torch.float64: "<d", torch.float16: "<e", torch.int64: "<q",
                         torch.int32: "<i", torch.int16: "<h", torch.int8: "<b", torch.uint8: "<B", torch.bool: "<?"}
        self._bfloat16 = torch.bfloat16

    def nonzero(self, elements):
        """The bytes of the count that the device reports of a mask with so many elements, or None."""
        wanted = self._given.get("nonzero")
        if wanted is None:
            return None
        return struct.pack("<i", min(elements, int(wanted * elements if wanted < 1 else wanted)))

    def item(self, dtype):
        """The bytes of a value of the type, or None."""
        value = self._given.get("item")
        if value is None:
            return None
        if dtype is self._bfloat16:
            return struct.pack("<f", value)[2:]
        packing = self._packing.get(dtype)
        if packing is None:
            return None
        return struct.pack(packing, value if packing[1] in "fde" else bool(value) if packing[1] == "?" else int(value))
