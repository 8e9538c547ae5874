"""Keys that code reads from a mapping: DeepSpeed's param_dict, torchtune's cfg."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .definitions import Definition
from .modules import Module, Modules, dotted
from .values import text_of, value_of

METHODS = {"get", "keys", "items", "pop", "values", "update", "copy"}
GETTERS = {"get_scalar_param", "get_list_param", "get_dict_param"}


def reads_of(modules: Modules, module: Module, mapping: str) -> Iterator[Definition]:
    """A key with a default is one of the user's; one that is read whole may be a section."""
    for node in ast.walk(module.tree):
        for key, default, is_section in _read(modules, module, node, mapping):
            if isinstance(key, str):
                place = f"{module.name.replace('.', '/')}.py:{getattr(node, 'lineno', 0)}"
                yield Definition(key, place, default, not is_section, is_section)


def _read(modules: Modules, module: Module, node: ast.AST, mapping: str) -> Iterator[tuple]:
    """(key, default, whether it is a section)"""
    if isinstance(node, ast.Call):
        yield from _read_by_call(modules, module, node, mapping)
    elif isinstance(node, ast.Subscript) and _is(node.value, mapping):
        yield value_of(modules, module, node.slice), None, True
    elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In) and _is(node.comparators[0], mapping):
        yield value_of(modules, module, node.left), None, True
    elif isinstance(node, ast.Attribute) and _is(node.value, mapping) and node.attr not in METHODS:
        yield node.attr, None, True


def _is(node: ast.expr, mapping: str) -> bool:
    """Whether an expression is the mapping itself, and not a part of it."""
    return isinstance(node, (ast.Name, ast.Attribute)) and mapping in ("*", dotted(node))


def _read_by_call(modules: Modules, module: Module, call: ast.Call, mapping: str) -> Iterator[tuple]:
    values = [value_of(modules, module, each) for each in call.args]
    is_get = isinstance(call.func, ast.Attribute) and call.func.attr == "get" and _is(call.func.value, mapping)
    if is_get and values:
        default = text_of(values[1]) if len(values) > 1 else "none"
        yield values[0], default, default == "{}"
    elif dotted(call.func) in GETTERS and len(values) == 3 and _is(call.args[0], mapping):
        yield values[1], text_of(values[2]), False
