"""What `highwater advise` answers; written by make_results.py from tools/schemas/advise.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from highwater._results import Record, Result, items, plain


@dataclass(frozen=True)
class AdviseDevicePresent(Record):
    """A part of Advise."""

    settings: str
    survives: bool
    peak_reserved_bytes: int
    device_alloc: int
    device_free: int
    alloc_retries: int
    ooms: int
    smallest_limit_bytes: int


@dataclass(frozen=True)
class AdviseDeviceTrial(Record):
    """A part of Advise."""

    settings: str
    survives: bool
    peak_reserved_bytes: int
    device_alloc: int
    device_free: int
    alloc_retries: int
    ooms: int
    smallest_limit_bytes: int | None


@dataclass(frozen=True)
class AdviseDevice(Record):
    """A part of Advise."""

    subject: str
    device: int
    verdict: str
    trusted: bool
    addresses_matched: float | None
    segment_events_matched: float | None
    final_segments_matched: float | None
    peak_error: float
    steps: int
    advice: str
    noise_bytes: int
    present: AdviseDevicePresent
    trials: tuple[AdviseDeviceTrial, ...]
    notes: tuple[str, ...]
    trust: str

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "present": AdviseDevicePresent.from_json,
        "trials": items(AdviseDeviceTrial.from_json),
        "notes": items(plain),
    }


@dataclass(frozen=True)
class Advise(Result):
    """What `highwater advise --format json` prints."""

    schema: str
    devices: tuple[AdviseDevice, ...]

    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "devices": items(AdviseDevice.from_json),
    }
