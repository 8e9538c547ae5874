"""What every result can do: be made from JSON and become it again, a table, or a picture."""

from __future__ import annotations

import copy
import dataclasses
import html
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from highwater._options import option_name

if TYPE_CHECKING:
    import pandas
    import pyarrow

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
        return cls.made(question.data(), question)

    @classmethod
    def made(cls: type[Answer], data: Mapping[str, Any], question: Question) -> Answer:
        result = cls.from_json(data)
        object.__setattr__(result, "_question", question)
        return result

    def to_pandas(self) -> pandas.DataFrame:
        """The rows of the answer (devices, runs, candidates ...), or one row without such a list.

        Numbers that a row lacks are missing (Int64), not turned into fractions.
        """
        from highwater._columns import to_pandas

        return to_pandas(self._rows())

    def to_arrow(self) -> pyarrow.Table:
        """The same as columns of Arrow, each with the type that the schema gives it; needs pyarrow.

        Parts of a row have columns of their own (`peak.reserved_bytes`); lists are JSON.
        """
        from highwater._columns import to_arrow

        return to_arrow(self._rows(), self._data["schema"])

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes these columns as a Parquet file; needs pyarrow.

        >>> hw.scan("snapshots/").to_parquet("ranks.parquet")
        """
        from highwater._columns import write_parquet

        write_parquet(self.to_arrow(), path)

    def _rows(self) -> Sequence[Record | Mapping[str, Any]]:
        """What the answer lists: its rows or runs, the results of a part, else the first list of objects, else itself."""
        parts = [key for key, value in self._data.items()
                 if isinstance(value, Mapping) and _has_objects(value.get("results"))]
        rows: Sequence[Record | Mapping[str, Any]] = (self,)
        if parts:
            rows = getattr(self, self._renamed.get(parts[0], parts[0])).results
        else:
            lists = [key for key, value in self._data.items() if _has_objects(value)]
            names = [self._renamed.get(key, key) for key in sorted(lists, key=lambda key: key not in ("rows", "runs"))]
            rows = next((getattr(self, name) for name in names if hasattr(self, name)), rows)
        return rows

    def __str__(self) -> str:
        return self._question.table()

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


def _has_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)
