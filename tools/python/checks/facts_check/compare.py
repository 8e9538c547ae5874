"""Compares the definitions of a release with the facts."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from .definitions import Definition
from .installed import Part
from .key_table import FactsFile, KeyTable, Name, common_key, read_facts
from .releases import is_for, is_over
from .values import is_same_value


@dataclasses.dataclass(frozen=True)
class Finding:
    what: str
    key: str
    detail: str
    place: str = ""


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Of one file of facts with the packages that define its names."""

    facts: str
    releases: tuple  # "trl 1.16.0"
    missing: tuple  # packages that are not installed
    keys: int  # compared
    defaults: int
    findings: list[Finding]


class Release:
    """The parts of one file of facts that are installed."""

    def __init__(self, file: FactsFile, parts: list[Part]):
        self.file = file
        self.parts = [part for part in parts if part.release is not None]
        self.missing = tuple(sorted({part.row["package"] for part in parts if part.release is None}))

    @property
    def number(self) -> str:
        return self.parts[0].release or ""

    @property
    def program(self) -> str:
        """Whose table knows the keys: included files may share them."""
        return self.parts[0].row.get("program", self.parts[0].facts)

    @property
    def names(self) -> tuple:
        return tuple(dict.fromkeys(f"{part.row['package']} {part.release}" for part in self.parts))

    def definitions(self) -> list[Definition]:
        return [self.plain(each) for part in self.parts for each in part.definitions]

    def plain(self, each: Definition) -> Definition:
        return dataclasses.replace(each, key=self.file.plain(each.key))

    def asked(self) -> list[Definition]:
        """Each key once."""
        keys = {common_key(each.key): each for each in reversed(self.definitions()) if each.is_asked}
        return list(keys.values())

    def of_program(self) -> list[Definition]:
        parts = [part for part in self.parts if not part.is_for_others]
        return [self.plain(each) for part in parts for each in part.definitions]


def compare(folder: Path, facts: str, parts: list[Part]) -> Comparison:
    file = read_facts(folder, facts)
    release = Release(file, [part for part in parts if part.facts == facts])
    if not release.parts:
        return Comparison(facts, (), release.missing, 0, 0, [])
    found = [Finding("not found", "", problem) for part in release.parts for problem in part.problems]
    found += new_keys(KeyTable(folder, release.program), release)
    # Without all packages a name that none has may be of one that is missing.
    found += [] if release.missing else gone_keys(file, release)
    defaults = list(checked_defaults(file, release))
    found += [finding for finding in defaults if finding]
    return Comparison(facts, release.names, release.missing, len(release.asked()), len(defaults), found)


def new_keys(table: KeyTable, release: Release) -> Iterator[Finding]:
    for each in release.asked():
        name = table.find(each.key)
        if name is None:
            detail = "no row knows it" + (f"; default {each.default[:40]}" if each.default is not None else "")
            yield Finding("new key", each.key, detail, each.place)


def gone_keys(file: FactsFile, release: Release) -> Iterator[Finding]:
    known = {common_key(each.key) for each in release.definitions()}
    open_sections = free_sections(release.definitions())
    for name in file.names:
        if not file.is_elsewhere(name) and not in_section(name.common, open_sections):
            yield from _gone_key(file, name, known, release.number)
    for key in file.unknown_notes():
        yield Finding("no such row", key, "since, until or elsewhere has it, and no row")


def _gone_key(file: FactsFile, name: Name, known: set[str], release: str) -> Iterator[Finding]:
    is_there = any(name.matches(key) for key in known) if name.is_pattern else name.common in known
    bounds = file.bounds(name)
    if is_there and is_over(bounds, release):
        yield Finding("still there", name.text, f"until {bounds['until']}, say the facts")
    elif not is_there and is_for(bounds, release):
        yield Finding("gone key", name.text, f"not in {release}: name it in `until` or `elsewhere`")


def free_sections(definitions: list[Definition]) -> set[str]:
    """Mappings of which the release defines nothing further."""
    keys = [common_key(each.key) for each in definitions]
    sections = {common_key(each.key) + "." for each in definitions if each.is_free}
    return {section for section in sections if not any(key.startswith(section) for key in keys)}


def in_section(common: str, sections: set[str]) -> bool:
    return any(common.startswith(section) for section in sections)


def checked_defaults(file: FactsFile, release: Release) -> Iterator[Finding | None]:
    """A finding, or None where the release agrees; nothing where it does not define the key."""
    defaults = [*file.data.get("defaults", []), *file.data.get("assumed", [])]
    for row in defaults:
        definition = next((each for each in release.of_program()
                           if common_key(each.key) == common_key(row["key"]) and each.default is not None), None)
        if definition is None or definition.default is None or not is_for(row, release.number):
            continue
        expected = row.get("declared", row["value"])
        is_same = is_same_value(expected, definition.default)
        yield None if is_same else Finding("other default", row["key"], f"{definition.default}, not {expected}",
                                           definition.place)
