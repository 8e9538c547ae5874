"""Keywords as options of the program: `max_split_size_mb=128` is `--max-split-size-mb 128`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Union

#: Options that a list gives several times; lists of others are values with commas between.
REPEATED = frozenset({"--from", "--edit", "--for", "--try"})

#: What a keyword may be given. None: as if it were not given.
Option = Union[str, int, float, bool, "os.PathLike[str]", Iterable[Any], Mapping[str, Any], None]


def words(options: Mapping[str, Option]) -> list[str]:
    """The words of a command line that say the same."""
    return [word for name, value in options.items() for word in _words(name, value)]


def option_name(keyword: str) -> str:
    return "--" + keyword.rstrip("_").replace("_", "-")


def _words(keyword: str, value: Option) -> list[str]:
    name = option_name(keyword)
    if value is None:
        return []
    if isinstance(value, bool):
        return _switch(name, value)
    if isinstance(value, Mapping):  # sweep's axes: {"capacity": ["40GiB", "80GiB"]}
        return [f"{name}={key}={_text(values)}" for key, values in value.items()]
    if name in REPEATED and isinstance(value, Iterable) and not isinstance(value, str):
        return [f"{name}={_text(each)}" for each in value]
    text = _text(value)
    return [f"{name}={text}"] if text else [name, text]


def _switch(name: str, value: bool) -> list[str]:
    """An option without a value is left out when it is off; the others have true and false."""
    from highwater._option_names import SWITCHES

    if name[2:] in SWITCHES:
        return [name] if value else []
    return [f"{name}={str(value).lower()}"]


def _text(value: Any) -> str:
    if isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    return ",".join(_text(each) for each in value)
