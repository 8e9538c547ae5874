"""What `highwater models` answers; written by make_results.py from tools/schemas/models.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from highwater._results import Record, Result, items, plain


@dataclass(frozen=True)
class ModelsModelWeights(Record):
    """A part of Models."""

    fp32_bytes: int
    bf16_bytes: int


@dataclass(frozen=True)
class ModelsModel(Record):
    """A part of Models."""

    name: str
    family: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    max_positions: int | None
    tied: bool
    parameters: dict[str, int]
    weights: ModelsModelWeights
    source: str
    experts: int | None = None
    decoder_layers: int | None = None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "weights": ModelsModelWeights.from_json,
    }


@dataclass(frozen=True)
class ModelsParameterTensor(Record):
    """A part of Models."""

    name: str
    shape: tuple[int, ...]
    elements: int

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "shape": items(plain),
    }


@dataclass(frozen=True)
class Models(Result):
    """What `highwater models --format json` prints."""

    schema: str
    models: tuple[ModelsModel, ...] | None = None
    name: str | None = None
    family: str | None = None
    layers: int | None = None
    hidden: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    ffn: int | None = None
    vocab: int | None = None
    max_positions: int | None = None
    tied: bool | None = None
    parameters: dict[str, int] | None = None
    weights: ModelsModelWeights | None = None
    source: str | None = None
    family_defaults: tuple[str, ...] | None = None
    parameter_tensors: tuple[ModelsParameterTensor, ...] | None = None
    experts: int | None = None
    decoder_layers: int | None = None

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "models": items(ModelsModel.from_json),
        "weights": ModelsModelWeights.from_json,
        "family_defaults": items(plain),
        "parameter_tensors": items(ModelsParameterTensor.from_json),
    }
