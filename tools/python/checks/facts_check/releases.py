"""Releases of packages, and what is for them: `since` and `until` are the first and the last."""

from __future__ import annotations

import re


def _numbers(release: str) -> tuple:
    return tuple(int(each) for each in re.findall(r"\d+", release))


def _cut(release: str, bound: str) -> tuple:
    """5.24.1 is of 5.24."""
    return _numbers(release)[: len(_numbers(bound))]


def is_over(bounds: dict, release: str) -> bool:
    return "until" in bounds and _cut(release, bounds["until"]) > _numbers(bounds["until"])


def is_for(bounds: dict, release: str) -> bool:
    begins = "since" not in bounds or _cut(release, bounds["since"]) >= _numbers(bounds["since"])
    return begins and not is_over(bounds, release)
