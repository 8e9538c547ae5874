"""Modules of installed packages as syntax trees, and what names in them stand for."""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
from collections.abc import Iterator
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Imported:
    """What `from module import name` binds; without a name the module itself."""

    module: str
    name: str = ""


@dataclasses.dataclass
class Module:
    name: str
    path: Path
    tree: ast.Module
    bindings: dict = dataclasses.field(default_factory=dict)  # name: ClassDef, expression or Imported
    stars: list = dataclasses.field(default_factory=list)  # modules of `from module import *`

    @property
    def package(self) -> str:
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]


@dataclasses.dataclass(frozen=True)
class Class:
    """A class and the module that it stands in."""

    module: Module
    node: ast.ClassDef

    @property
    def key(self) -> tuple:
        return (self.module.name, self.node.lineno)


def statements(body: list) -> Iterator[ast.stmt]:
    """Those that run when the module is imported: the branches of if and try as well."""
    for statement in body:
        yield statement
        if not isinstance(statement, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            for part in ("body", "orelse", "finalbody"):
                yield from statements(getattr(statement, part, []))
            for handler in getattr(statement, "handlers", []):
                yield from statements(handler.body)


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = module.package.split(".")
    parts = parts[: len(parts) - (node.level - 1)]
    return ".".join(parts + ([node.module] if node.module else []))


def _bind_import(module: Module, node: ast.Import) -> None:
    for alias in node.names:
        bound = alias.asname or alias.name.split(".")[0]
        module.bindings.setdefault(bound, Imported(alias.name if alias.asname else bound))


def _bind_from(module: Module, node: ast.ImportFrom) -> None:
    source = _absolute(module, node)
    for alias in node.names:
        if alias.name == "*":
            module.stars.append(source)
        else:
            module.bindings.setdefault(alias.asname or alias.name, Imported(source, alias.name))


def _bind(module: Module, node: ast.stmt) -> None:
    if isinstance(node, ast.ClassDef):
        module.bindings.setdefault(node.name, node)
    elif isinstance(node, ast.Import):
        _bind_import(module, node)
    elif isinstance(node, ast.ImportFrom):
        _bind_from(module, node)
    elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Name):
                _bind_value(module, target.id, node.value)


def _bind_value(module: Module, name: str, value: ast.expr) -> None:
    """The last value counts, but `except ImportError: A = None` leaves what was imported."""
    if not isinstance(module.bindings.get(name), (ast.ClassDef, Imported)):
        module.bindings[name] = value


def dotted(node: ast.expr) -> str:
    """'a.b' of such an expression, without what stands in brackets; otherwise empty."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Subscript):
        return dotted(node.value)
    if isinstance(node, ast.Attribute):
        head = dotted(node.value)
        return f"{head}.{node.attr}" if head else ""
    return ""


class Modules:
    """Reads each module once. `checkouts` are roots of source trees that come before what is installed."""

    def __init__(self, checkouts: list[Path]):
        self._checkouts = checkouts
        self._modules: dict[str, Module | None] = {}

    def roots(self, package: str) -> list[Path]:
        """Folders that hold `package`; its code is not run for that."""
        found = [root for root in self._checkouts if (root / package).is_dir()]
        spec = importlib.util.find_spec(package)
        places = list(spec.submodule_search_locations or []) if spec else []
        return found + [Path(place).parent for place in places]

    def find(self, name: str) -> Module | None:
        if name not in self._modules:
            self._modules[name] = self._read(name)
        return self._modules[name]

    def _read(self, name: str) -> Module | None:
        parts = name.split(".")
        for root in self.roots(parts[0]):
            base = root.joinpath(*parts)
            for path in (base / "__init__.py", base.with_suffix(".py")):
                if path.is_file():
                    return self._parse(name, path)
        return None

    def _parse(self, name: str, path: Path) -> Module:
        module = Module(name, path, ast.parse(path.read_text(encoding="utf-8"), str(path)))
        for statement in statements(module.tree.body):
            _bind(module, statement)
        return module

    def resolve(self, module: Module, name: str, seen: frozenset = frozenset()):
        """(module, Class or expression) that `a.b` in `module` stands for; None if it is not there."""
        head, _, rest = name.partition(".")
        if (module.name, name) in seen:
            return None
        seen = seen | {(module.name, name)}
        binding = module.bindings.get(head)
        if binding is None:
            return self._in_stars(module, name, seen)
        if isinstance(binding, ast.ClassDef):
            return self._inside(Class(module, binding), rest)
        if isinstance(binding, Imported):
            return self._imported(binding, rest, seen)
        if rest or not isinstance(binding, (ast.Name, ast.Attribute)):
            return None if rest else (module, binding)
        return self.resolve(module, dotted(binding), seen) or (module, binding)

    def _in_stars(self, module: Module, name: str, seen: frozenset):
        for source in module.stars:
            other = self.find(source)
            found = self.resolve(other, name, seen) if other else None
            if found:
                return found
        return None

    def _imported(self, binding: Imported, rest: str, seen: frozenset):
        path = [part for part in (binding.name, *rest.split(".")) if part]
        at = binding.module
        while path:
            module = self.find(at)
            if module and (path[0] in module.bindings or module.stars):
                return self.resolve(module, ".".join(path), seen)
            at = f"{at}.{path.pop(0)}"
        return None

    def _inside(self, found: Class, rest: str):
        if not rest:
            return found.module, found
        head, _, others = rest.partition(".")
        for owner in self.lineage(found):
            for node in owner.node.body:
                if isinstance(node, ast.ClassDef) and node.name == head:
                    return self._inside(Class(owner.module, node), others)
                if isinstance(node, ast.Assign) and not others and dotted(node.targets[0]) == head:
                    return owner.module, node.value
        return None

    def lineage(self, found: Class) -> list[Class]:
        """The class and those that it inherits from, the nearest first."""
        classes = [found]
        for base in found.node.bases:
            resolved = self.base(found, base)
            if resolved:
                classes += [each for each in self.lineage(resolved) if each.key not in {c.key for c in classes}]
        return classes

    def base(self, found: Class, expression: ast.expr) -> Class | None:
        resolved = self.resolve(found.module, dotted(expression))
        return resolved[1] if resolved and isinstance(resolved[1], Class) else None
