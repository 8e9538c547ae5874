"""A key as a release defines it."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Definition:
    """`is_asked`: users write this name, so a row must know it; otherwise it is another name of a key, or
    a section. `is_free`: what stands below it is a mapping that the release does not define further."""

    key: str
    place: str  # "trl/trainer/sft_config.py:128"
    default: str | None = None  # as facts write it; None: not known without running the code
    is_asked: bool = True
    is_free: bool = False
    is_on: bool = False  # a flag that is true by default

    def under(self, prefix: str) -> Definition:
        return dataclasses.replace(self, key=prefix + self.key)
