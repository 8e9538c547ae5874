"""A case as X.json has it: its plan in the program's option words, and what no option says under names of its own.

What a field of a case becomes is data that the program reads as well (workloads/facts/recorded_case.json).
"""

import json
from functools import cache
from pathlib import Path

from .case_fields import sequence_lengths

FACTS = Path(__file__).resolve().parents[3] / "workloads" / "facts" / "recorded_case.json"

# Fields of the process and of the list: the program that is recorded is the same without them.
KEPT = ("id", "note", "tags", "overrides", "rig", "alloc_conf", "memory_limit_mib", "stacks", "teardown", "probe")


@cache
def facts():
    return json.loads(FACTS.read_text(encoding="utf-8"))


@cache
def rows_by_key():
    return {key: row for row in facts()["keys"] if "becomes" in row for key in row["keys"]}


def text_of(value):
    """As a command line has it."""
    if isinstance(value, list):
        return ",".join(map(text_of, value))
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def flat(value, path=""):
    """[(path, value)] of everything that is no object, null left out."""
    if isinstance(value, dict):
        return [entry for key, below in value.items() for entry in flat(below, f"{path}.{key}" if path else key)]
    return [] if value is None else [(path, value)]


def flat_fields(case, family):
    """The fields of `dist` are called after its kind."""
    named = {key: value for key, value in case.items() if key != "dist"}
    return dict(flat({**named, case["dist"]["kind"]: case["dist"], "model.family": family}))


def counts(row, fields):
    """'*' is any value, null is none, null or false."""
    return all(fields.get(key, False) is False if wanted is None
               else key in fields and wanted in ("*", text_of(fields[key])) for key, wanted in row["when"].items())


def value_in(word):
    """Numbers and truth values as JSON has them."""
    return json.loads(word) if word.isdigit() or word in ("true", "false") else word


def rows_that_count(which, fields):
    return {option: value_in(word) for row in facts()[which] if counts(row, fields)
            for option, word in row.get("options", {}).items()}


def value_of(row, value):
    """Numbers, lists and truth values stay what they are."""
    return row.get("words", {}).get(text_of(value), value)


def options_of(case, family):
    """{option: value} of a complete case."""
    fields, rows = flat_fields(case, family), rows_by_key()
    named = {rows[key]["becomes"]: value_of(rows[key], value) for key, value in fields.items() if key in rows}
    own = {**rows_that_count("first", fields), **named, **rows_that_count("last", fields)}
    return {"model": own.get("model"), **own}


def described(case, family):
    """`case` for X.json. family: of its model."""
    drawn = {"seq": sequence_lengths(case)} if isinstance(case.get("seq"), dict) else {}
    kept = {key: case[key] for key in KEPT if key in case}
    return {**kept, "options": options_of({**case, **drawn}, family)}
