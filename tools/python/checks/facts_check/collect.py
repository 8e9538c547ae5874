"""Keys and defaults that installed releases define, as JSON: run by installed.py in their Python.

    collect.main(TABLE, CHECKOUTS) prints a list with a row for each row of definitions.json.
"""

from __future__ import annotations

import ast
import dataclasses
import fnmatch
import importlib.metadata
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from .definitions import Definition
from .fields import definitions_of, missing_bases
from .modules import Class, Module, Modules
from .parsers import options_of
from .reads import reads_of
from .values import value_of


def as_section(definition: Definition) -> Definition:
    """What users write stands below it."""
    return dataclasses.replace(definition, is_asked=False, is_free=True)


def is_in(key: str, sections: list[str]) -> bool:
    return any(key == section or key.startswith(section + ".") for section in sections)


class Collector:
    def __init__(self, checkouts: list[Path]):
        self.modules = Modules(checkouts)

    def row(self, row: dict) -> dict:
        """What the package of a row of definitions.json defines; only `package` if it is not there."""
        package = row["package"]
        release = self.release(package, row)
        if release is None:
            return {"package": package, "release": None, "definitions": [], "problems": []}
        problems: list[str] = []
        found = [each.under(row.get("under", "")) for each in self.definitions(row, problems)]
        found = [each for each in found if fnmatch.fnmatchcase(each.key, row.get("only", "*"))]
        found = [as_section(each) if is_in(each.key, row.get("sections", [])) else each for each in found]
        found += [Definition(each, "", is_asked=False, is_free=True) for each in row.get("sections", [])]
        return {"package": package, "release": release, "problems": problems,
                "definitions": [dataclasses.asdict(each) for each in found]}

    def release(self, package: str, row: dict) -> str | None:
        """None if it is not there. A checkout says its release in a module of its own."""
        if self.modules.find(row["import"]) is None:
            return None
        info = self.modules.find(row.get("release", ""))
        if info:
            return ".".join(str(value_of(self.modules, info, info.bindings[part])) for part in ("MAJOR", "MINOR", "PATCH"))
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            return None

    def definitions(self, row: dict, problems: list[str]) -> Iterator[Definition]:
        for name in row.get("classes", []):
            yield from self._fields(row, name, problems)
        for name in row.get("options", []):
            for module in self._named(name, problems):
                yield from options_of(self.modules, module)
        for name, mapping in row.get("reads", {}).items():
            for module in self._named(name, problems):
                yield from reads_of(self.modules, module, mapping)

    def _fields(self, row: dict, name: str, problems: list[str]) -> Iterator[Definition]:
        pattern, _, dotted_class = name.partition(":")
        for module in self._named(pattern, problems):
            for found in self._classes(module, dotted_class, problems):
                problems += missing_bases(self.modules, found)
                yield from self._flags(row, definitions_of(self.modules, found, row.get("nested", True)))

    def _flags(self, row: dict, found: Iterator[Definition]) -> Iterator[Definition]:
        """HfArgumentParser has --no_NAME for what is true by default."""
        for each in found:
            yield each
            if row.get("no_flags") and each.is_on:
                yield Definition(f"no_{each.key}", each.place)

    def _classes(self, module: Module, name: str, problems: list[str]) -> list[Class]:
        """"Trainer.Config" or, with a '*' for any letters, "*Args"."""
        if "*" in name:
            nodes = [node for node in module.bindings.values() if isinstance(node, ast.ClassDef)]
            return [Class(module, node) for node in nodes if fnmatch.fnmatchcase(node.name, name)]
        found = self.modules.resolve(module, name)
        if found and isinstance(found[1], Class):
            return [found[1]]
        problems.append(f"{module.name} has no class {name}")
        return []

    def _named(self, name: str, problems: list[str]) -> list[Module]:
        """"a.b" or, with a '*' for any module, "a.*.b"."""
        names = self._expand(name) if "*" in name else [name]
        modules = [self.modules.find(each) for each in names]
        if not modules or None in modules:
            problems.append(f"there is no module {name}")
        return [each for each in modules if each]

    def _expand(self, name: str) -> list[str]:
        found = set()
        for root in self.modules.roots(name.split(".")[0]):
            paths = root.glob(name.replace(".", "/") + ".py")
            found |= {".".join(path.relative_to(root).with_suffix("").parts) for path in paths}
        return sorted(found)


def main() -> None:
    rows = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["rows"]
    collector = Collector([Path(each) for each in sys.argv[2:]])
    json.dump([collector.row(row) for row in rows], sys.stdout)
