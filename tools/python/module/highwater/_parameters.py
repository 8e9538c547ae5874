"""The parameters of a model: how many, of which shapes and types."""

from __future__ import annotations

import collections
import dataclasses
import html
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


@dataclasses.dataclass(frozen=True)
class Parameter:
    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def elements(self) -> int:
        count = 1
        for size in self.shape:
            count *= size
        return count


@dataclasses.dataclass(frozen=True)
class Parameters:
    """The parameters of a model: `total_params`, `largest_layer_params`, and `tensors` with name, shape and dtype.

    hw.estimate takes it as its model. It unpacks into the two numbers that the cold estimators take.
    """

    name: str
    tensors: tuple[Parameter, ...]
    #: What the largest single module owns.
    largest_layer_params: int

    @property
    def total_params(self) -> int:
        return sum(each.elements for each in self.tensors)

    def __iter__(self) -> Iterator[int]:
        return iter((self.total_params, self.largest_layer_params))

    def to_dict(self) -> dict[str, Any]:
        """As the program's `estimate --model FILE.json` reads it."""
        return {"name": self.name, "largest_layer_parameters": self.largest_layer_params,
                "parameters": [{"name": each.name, "shape": list(each.shape), "dtype": each.dtype}
                               for each in self.tensors]}

    def __str__(self) -> str:
        elements: collections.Counter[str] = collections.Counter()
        for each in self.tensors:
            elements[each.dtype] += each.elements
        types = ", ".join(f"{count:,} {dtype}" for dtype, count in elements.items())
        return (f"{self.name}: {types or 'no'} parameters in {len(self.tensors):,} tensors, "
                f"{self.largest_layer_params:,} in the largest layer")

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{html.escape(each.name)}</td><td>{list(each.shape)}</td><td>{html.escape(each.dtype)}"
                       f"</td><td>{each.elements:,}</td></tr>" for each in self.tensors)
        return (f"<p>{html.escape(str(self))}</p><details><summary>Tensors</summary><table><tr><th>name</th>"
                f"<th>shape</th><th>dtype</th><th>elements</th></tr>{rows}</table></details>")


def parameters(model: torch.nn.Module) -> Parameters:
    """The parameters of a model on any device, meta included; shared ones are counted once.

    >>> hw.estimate(model=hw.parameters(net), dp=8, dp_kind="zero3")
    >>> hw.estimate_zero3_model_states_mem_needs_all_cold(*hw.parameters(net), num_gpus_per_node=8)
    """
    named = {_identity(each): (name, each) for name, each in model.named_parameters()}
    tensors = tuple(Parameter(name, tuple(each.shape), str(each.dtype).partition(".")[2])
                    for name, each in named.values())
    largest = max((sum(each.numel() for each in module.parameters(recurse=False)) for module in model.modules()),
                  default=0)
    return Parameters(type(model).__name__, tensors, largest)


def _identity(parameter: torch.Tensor) -> tuple[str, int]:
    """Where it lies; a meta tensor lies nowhere."""
    return ("meta", id(parameter)) if parameter.is_meta else ("memory", parameter.data_ptr())
