"""The keys of a program's facts, found as the C++ finds them (workloads/sources/rules/key_table.cpp)."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path


def common_key(key: str) -> str:
    """'-' and '_' are alike, upper case does not count."""
    return key.replace("-", "_").lower()


@dataclasses.dataclass(frozen=True)
class Name:
    """A key of a row, which may have '*'."""

    text: str

    @property
    def common(self) -> str:
        return common_key(self.text)

    @property
    def is_pattern(self) -> bool:
        return "*" in self.text

    @property
    def letters(self) -> int:
        return len(self.text) - self.text.count("*")

    def matches(self, common: str) -> bool:
        """Parts between '*' come in their order, each at its first place after the one before."""
        first, *middle, last = self.common.split("*")
        if len(common) < len(first) + len(last) or not common.startswith(first) or not common.endswith(last):
            return False
        at, end = len(first), len(common) - len(last)
        for part in middle:
            found = common.find(part, at, end)
            if found < 0:
                return False
            at = found + len(part)
        return True


class FactsFile:
    """One file of programs/. Its `since` and `until` say which release was the first or the last to have a
    key, its `elsewhere` whose keys are none of the package's."""

    def __init__(self, name: str, data: dict):
        self.name = name
        self.data = data
        self.names = [Name(key) for row in data.get("keys", []) for key in row["keys"]]

    def plain(self, key: str) -> str:
        """As the rules call it (workloads/sources/rules/plain_key.cpp)."""
        for row in self.data.get("renamed", []):
            head = row["key"].removesuffix("*")
            if row["key"] != head and common_key(key).startswith(common_key(head)):
                return row["as"].removesuffix("*") + key[len(head):]
            if row["key"] == head and common_key(key) == common_key(head):
                return row["as"]
        section = next((each for each in self.data.get("sections", []) if key.startswith(each)), "")
        return key.removeprefix(section)

    def bounds(self, name: Name) -> dict:
        """{"until": "4.57"}, as rows of defaults have it."""
        sides = ((side, self._place(side, name)) for side in ("since", "until"))
        return {side: release for side, release in sides if release}

    def is_elsewhere(self, name: Name) -> bool:
        return self._place("elsewhere", name) is not None

    def _place(self, part: str, name: Name) -> str | None:
        return next((place for place, keys in self.data.get(part, {}).items() if name.text in keys), None)

    def unknown_notes(self) -> list[str]:
        """Keys that these parts name and no row has."""
        known = {name.text for name in self.names}
        noted = [key for part in ("since", "until", "elsewhere") for keys in self.data.get(part, {}).values() for key in keys]
        return [key for key in noted if key not in known]

    @property
    def includes(self) -> list[str]:
        return self.data.get("includes", [])


def read_facts(folder: Path, name: str) -> FactsFile:
    return FactsFile(name, json.loads((folder / f"{name}.json").read_text(encoding="utf-8")))


class KeyTable:
    """Names come before patterns, a file's own rows before included ones, and of the patterns of one
    file the one with most letters comes first."""

    def __init__(self, folder: Path, name: str):
        self.layers: list[FactsFile] = []
        self._add(folder, name)

    def _add(self, folder: Path, name: str) -> None:
        file = read_facts(folder, name)
        self.layers.append(file)
        for included in file.includes:
            self._add(folder, included)

    def find(self, key: str) -> Name | None:
        common = common_key(key)
        for file in self.layers:
            for name in file.names:
                if not name.is_pattern and name.common == common:
                    return name
        for file in self.layers:
            patterns = sorted((n for n in file.names if n.is_pattern), key=lambda n: -n.letters)
            for name in patterns:
                if name.matches(common):
                    return name
        return None
