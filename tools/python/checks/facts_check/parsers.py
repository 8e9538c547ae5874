"""Options of argparse: add_argument() in a file, and Megatron-LM's groups of a dataclass's fields."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .definitions import Definition
from .fields import Field, default_of, fields_of
from .modules import Class, Module, Modules, dotted
from .values import UNKNOWN, text_of, value_of


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((each.value for each in call.keywords if each.arg == name), None)


def _default(modules: Modules, module: Module, call: ast.Call):
    default = _keyword(call, "default")
    if default is not None:
        return value_of(modules, module, default)
    action = _keyword(call, "action")
    flags = {"store_true": False, "store_false": True}
    return flags.get(str(getattr(action, "value", ""))) if action is not None else None


def _options(modules: Modules, module: Module, call: ast.Call) -> Iterator[Definition]:
    place = f"{module.name.replace('.', '/')}.py:{call.lineno}"
    default = text_of(_default(modules, module, call))
    action = dotted(_keyword(call, "action") or ast.Constant(None)).split(".")[-1]
    for each in call.args:
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value.startswith("-"):
            name = each.value.lstrip("-")
            yield Definition(name, place, default)
            if action == "BooleanOptionalAction":
                yield Definition(f"no_{name}", place)


def options_of(modules: Modules, module: Module) -> Iterator[Definition]:
    for scope in [module.tree, *(n for n in ast.walk(module.tree) if isinstance(n, ast.FunctionDef))]:
        for node in ast.walk(scope):
            if isinstance(node, ast.Call) and isinstance(scope, ast.FunctionDef) and dotted(node.func) == "ArgumentGroupFactory":
                yield from _group(modules, module, scope, node)
            elif isinstance(node, ast.Call) and scope is module.tree and _is_add_argument(node):
                yield from _options(modules, module, node)


def _is_add_argument(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument"


def _group(modules: Modules, module: Module, function: ast.FunctionDef, call: ast.Call) -> Iterator[Definition]:
    """Megatron-LM, training/argument_utils.py ArgumentGroupFactory."""
    found = _class_in(modules, module, function, dotted(call.args[0]))
    excluded = _local_value(modules, module, function, _keyword(call, "exclude"))
    for field in fields_of(modules, found) if found else []:
        if field.name not in excluded:
            yield from _field_options(modules, field)


def _class_in(modules: Modules, module: Module, function: ast.FunctionDef, name: str) -> Class | None:
    """Groups import their class inside the function."""
    for node in ast.walk(function):
        if isinstance(node, ast.ImportFrom) and any((a.asname or a.name) == name for a in node.names):
            source = modules.find(node.module or "")
            found = modules.resolve(source, name) if source else None
            return found[1] if found else None
    found = modules.resolve(module, name)
    return found[1] if found and isinstance(found[1], Class) else None


def _local_value(modules: Modules, module: Module, function: ast.FunctionDef, node: ast.expr | None) -> list:
    if isinstance(node, ast.Name):
        assigned = [n.value for n in ast.walk(function) if isinstance(n, ast.Assign) and dotted(n.targets[0]) == node.id]
        node = assigned[0] if assigned else None
    value = value_of(modules, module, node)
    return value if isinstance(value, list) else []


def _field_options(modules: Modules, field: Field) -> Iterator[Definition]:
    place = f"{field.module.name.replace('.', '/')}.py:{field.line}"
    value = default_of(modules, field)
    names = _names_in_metadata(modules, field)
    if names is None:
        names = [f"no_{field.name}", f"disable_{field.name}"] if value is True else [field.name]
    for name in names:
        yield Definition(name.lstrip("-"), place, None if value is UNKNOWN else text_of(value))


def _names_in_metadata(modules: Modules, field: Field) -> list | None:
    metadata = field.argument("metadata")
    for node in ast.walk(metadata) if metadata is not None else []:
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values):
                if isinstance(key, ast.Constant) and key.value == "arg_names":
                    return value_of(modules, field.module, value)
    return None
