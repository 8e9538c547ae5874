"""What every result can do: be made from JSON and become it again, a table, or a picture."""

from __future__ import annotations

import copy
import dataclasses
import html
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from highwater._options import option_name

if TYPE_CHECKING:
    import pandas

    from highwater._question import Question

#: The commands whose answers `report` draws.
_DRAWN = ("advise", "explain", "replay", "simulate", "sweep")

Self = TypeVar("Self", bound="Record")
Answer = TypeVar("Answer", bound="Result")


def plain(value: Any) -> Any:
    """As it is; but what is immutable holds no lists."""
    return tuple(plain(each) for each in value) if isinstance(value, list) else value


def items(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: tuple(make(each) for each in value)


def values(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: {key: make(each) for key, each in value.items()}


@dataclasses.dataclass(frozen=True)
class Record:
    """An answer, or a part of one: the keys of the program's JSON are its fields."""

    _renamed: ClassVar[Mapping[str, str]] = {}
    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}
    if TYPE_CHECKING:  # set by from_json, and no part of what is compared
        _data: ClassVar[Mapping[str, Any]]

    @classmethod
    def from_json(cls: type[Self], data: Mapping[str, Any]) -> Self:
        """Keys that are missing are None, those that are not known are left to `to_dict`."""
        names = {cls._renamed.get(key, key): key for key in data}
        made = cls(**{field.name: cls._value(names[field.name], data[names[field.name]]) if field.name in names else None
                      for field in dataclasses.fields(cls)})
        object.__setattr__(made, "_data", data)
        return made

    @classmethod
    def _value(cls, key: str, value: Any) -> Any:
        part = cls._parts.get(key)
        return part(value) if part is not None and value is not None else value


    def to_dict(self) -> dict[str, Any]:
        """The program's JSON, as a copy."""
        return copy.deepcopy(dict(self._data))

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{html.escape(key)}</td><td>{html.escape(_cell(value))}</td></tr>"
                       for key, value in self._data.items())
        return f"<table>{rows}</table>"


def _cell(value: Any) -> str:
    """A value of the JSON in a few words."""
    if isinstance(value, (list, dict)) and value and not isinstance(next(iter(value)), (int, float)):
        return f"{len(value)} ..."
    return f"{value:,}" if isinstance(value, int) else str(value)


@dataclasses.dataclass(frozen=True)
class Result(Record):
    """The answer to a question, with the keys and numbers of the program's JSON.

    `str()` is the program's table; a notebook shows the pictures of the HTML report.
    """

    if TYPE_CHECKING:  # set by `of`, and no part of what is compared
        _question: ClassVar[Question]

    @classmethod
    def of(cls: type[Answer], question: Question) -> Answer:
        result = cls.from_json(question.data())
        object.__setattr__(result, "_question", question)
        return result

    def to_pandas(self) -> pandas.DataFrame:
        """The rows of the answer (devices, runs, candidates ...), or one row without such a list."""
        import pandas

        return pandas.json_normalize(_rows(self._data))

    def __str__(self) -> str:
        return self._question.text()

    def _repr_html_(self) -> str:
        table = f"<pre>{html.escape(str(self))}</pre>"
        picture = self._picture()
        return f"{picture}<details><summary>As a table</summary>{table}</details>" if picture else table

    def _picture(self) -> str:
        """The report about the same, where there is one."""
        from highwater._option_names import NOT_OF_REPORT
        from highwater.report import Report

        if self._question.command not in _DRAWN:
            return ""
        options = {name: value for name, value in self._question.options.items()
                   if option_name(name)[2:] not in NOT_OF_REPORT}
        if self._question.options.get("find_batch"):  # the answer is about the batch that was found
            options["batch"] = self._data["plan"]["batch"]
        return Report(self._question.other("report", **options))._repr_html_()


def _rows(data: Mapping[str, Any]) -> Any:
    lists = [value for value in data.values() if isinstance(value, list) and value and isinstance(value[0], dict)]
    return lists[0] if lists else [dict(data)]
