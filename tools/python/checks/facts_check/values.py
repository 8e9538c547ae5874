"""Values of expressions that stand in a package's source, without running it."""

from __future__ import annotations

import ast
import operator

from .modules import Class, Module, Modules, dotted

UNKNOWN = object()  # a value that only running the code would tell

_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
              ast.Pow: operator.pow}
_CONVERSIONS = {"int": int, "float": float, "str": str, "pp_int": int}
_EMPTY: dict[str, list | dict] = {"list": [], "dict": {}, "tuple": [], "set": []}


def value_of(modules: Modules, module: Module, node: ast.expr | None):
    """The value as Python writes it in JSON; UNKNOWN if it is no constant."""
    if isinstance(node, ast.Constant):
        return UNKNOWN if node.value is Ellipsis else node.value
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        values = [value_of(modules, module, each) for each in node.elts]
        return UNKNOWN if UNKNOWN in values else values
    if isinstance(node, ast.Dict):
        return UNKNOWN if node.keys else {}
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = value_of(modules, module, node.operand)
        return -value if isinstance(value, (int, float)) else UNKNOWN
    if isinstance(node, ast.BinOp):
        return _binary(modules, module, node)
    if isinstance(node, ast.Call):
        return _call(modules, module, node)
    if isinstance(node, (ast.Name, ast.Attribute)):
        return _named(modules, module, node)
    return UNKNOWN


def _binary(modules: Modules, module: Module, node: ast.BinOp):
    left, right = value_of(modules, module, node.left), value_of(modules, module, node.right)
    apply = _OPERATORS.get(type(node.op))
    numbers = isinstance(left, (int, float)) and isinstance(right, (int, float))
    return apply(left, right) if apply and numbers else UNKNOWN


def _call(modules: Modules, module: Module, node: ast.Call):
    name = dotted(node.func)
    if not node.args:
        return _EMPTY.get(name, UNKNOWN)
    value = value_of(modules, module, node.args[0])
    return _CONVERSIONS[name](value) if name in _CONVERSIONS and value is not UNKNOWN else UNKNOWN


def _named(modules: Modules, module: Module, node: ast.expr):
    """A constant of a module, or a member of an enumeration."""
    name = dotted(node)
    name = name[: -len(".value")] if name.endswith(".value") else name
    found = modules.resolve(module, name) if name else None
    if not found or isinstance(found[1], (Class, ast.Name, ast.Attribute)):
        return UNKNOWN
    return value_of(modules, found[0], found[1])


def text_of(value) -> str | None:
    """As facts write it: "none", "true", "8"; None for what is not known."""
    if value is UNKNOWN:
        return None
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return " ".join(str(value).split())


def is_same_value(left: str, right: str) -> bool:
    """"1" and "1.0" are one number; upper case does not count."""
    try:
        return float(left) == float(right)
    except ValueError:
        return left.lower() == right.lower()
