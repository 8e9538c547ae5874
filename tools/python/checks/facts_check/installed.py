"""What the packages of a Python define: collect.py runs in it, since its packages may need its syntax."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from pathlib import Path

from .definitions import Definition
from .releases import is_for

DEFINITIONS = Path(__file__).with_name("definitions.json")
PROGRAM = "import sys; sys.path.insert(0, {!r}); from facts_check.collect import main; main()"


class CannotCollect(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Part:
    """A row of definitions.json with what the installed release has of it."""

    row: dict
    release: str | None
    definitions: list[Definition]
    problems: list[str]

    @property
    def facts(self) -> str:
        return self.row["facts"]

    @property
    def is_for_others(self) -> bool:
        return self.row.get("others", False)


def installed_parts(python: str, checkouts: list[str], table: Path = DEFINITIONS) -> list[Part]:
    """Rows for other releases than the installed ones are left out."""
    program = PROGRAM.format(str(Path(__file__).resolve().parents[1]))
    try:
        done = subprocess.run([python, "-B", "-c", program, str(table), *checkouts],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    except OSError as error:
        raise CannotCollect(f"{python} does not start: {error.strerror}") from error
    if done.returncode != 0:
        raise CannotCollect(f"{python} could not read its packages: {done.stderr.strip().splitlines()[-1]}")
    rows = json.loads(table.read_text(encoding="utf-8"))["rows"]
    parts = [_part(row, found) for row, found in zip(rows, json.loads(done.stdout))]
    return [part for part in parts if part.release is None or is_for(part.row, part.release)]


def _part(row: dict, found: dict) -> Part:
    return Part(row, found["release"], [Definition(**each) for each in found["definitions"]], found["problems"])
