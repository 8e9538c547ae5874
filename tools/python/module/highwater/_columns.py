"""The rows of an answer as columns, with the types that its schema says they have."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from highwater._results import Record

if TYPE_CHECKING:
    import pandas
    import pyarrow

#: How a field's type is written, and what Arrow and pandas call it; pandas also where values are missing.
_ARROW = {"int": "int64", "float": "float64", "str": "string", "bool": "bool"}
_PANDAS = {"int": "int64", "float": "float64", "bool": "bool"}
_PANDAS_WITH_MISSING = {**_PANDAS, "int": "Int64", "bool": "boolean"}


@dataclasses.dataclass(frozen=True)
class Column:
    name: str
    #: int, float, str or bool; empty: as the values are.
    kind: str
    values: list[Any]


def columns(rows: Sequence[Record | Mapping[str, Any]]) -> list[Column]:
    """Parts of a row are columns of their own: `peak.reserved_bytes`."""
    kinds: dict[str, str] = {}
    flat = []
    for row in rows:
        kinds.update({name: kind for name, kind in _kinds(row, "") if kind or name not in kinds})
        flat.append(dict(_flat(row.to_dict() if isinstance(row, Record) else row, "")))
    names = [name for name in kinds if any(name in each for each in flat) and not _is_part(name, kinds)]
    names += [name for name in dict.fromkeys(key for each in flat for key in each) if name not in kinds]
    return [Column(name, kinds.get(name, ""), [each.get(name) for each in flat]) for name in names]


def to_arrow(rows: Sequence[Record | Mapping[str, Any]], schema: str) -> pyarrow.Table:
    import pyarrow

    made = {each.name: _array(each) for each in columns(rows)}
    return pyarrow.table(made).replace_schema_metadata({"schema": schema})


def to_pandas(rows: Sequence[Record | Mapping[str, Any]]) -> pandas.DataFrame:
    import pandas

    return pandas.DataFrame({each.name: pandas.Series(each.values, dtype=_dtype(each)) for each in columns(rows)})


def write_parquet(table: pyarrow.Table, path: str | os.PathLike[str]) -> None:
    """The file is there when it is whole."""
    import pyarrow.parquet

    unfinished = f"{os.fspath(path)}.{os.getpid()}.unfinished"
    try:
        pyarrow.parquet.write_table(table, unfinished)
        os.replace(unfinished, path)
    finally:
        if os.path.exists(unfinished):
            os.unlink(unfinished)


def _array(column: Column) -> Any:
    import pyarrow

    if column.kind:
        return pyarrow.array(column.values, type=_ARROW[column.kind])
    values = [json.dumps(each) if isinstance(each, list) else each for each in column.values]
    if len({type(each) for each in values if each is not None}) > 1:  # an axis of a sweep: 80 GiB in bytes, or auto
        values = [None if each is None else str(each) for each in values]
    return pyarrow.array(values)


def _dtype(column: Column) -> str | None:
    has_all = all(each is not None for each in column.values)
    return (_PANDAS if has_all else _PANDAS_WITH_MISSING).get(column.kind)


def _kinds(row: Record | Mapping[str, Any], before: str) -> Iterator[tuple[str, str]]:
    """What is said of each column of a row; of what is only in the data, nothing."""
    if not isinstance(row, Record):
        return
    keys = {name: key for key, name in row._renamed.items()}
    for field in dataclasses.fields(row):
        name = before + keys.get(field.name, field.name)
        value = getattr(row, field.name)
        if isinstance(value, Record):
            yield from _kinds(value, name + ".")
        else:
            yield name, _kind(str(field.type))


def _kind(annotation: str) -> str:
    """`int | None` is int; what is no plain value has none."""
    kinds = {each for each in annotation.split(" | ") if each != "None"}
    if kinds == {"int", "float"}:
        return "float"
    only = kinds.pop() if len(kinds) == 1 else ""
    return only if only in _ARROW else ""


def _flat(data: Mapping[str, Any], before: str) -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield before + key, value


def _is_part(name: str, kinds: Iterable[str]) -> bool:
    """An object that some rows lack is its columns in the others."""
    return any(each.startswith(name + ".") for each in kinds)
