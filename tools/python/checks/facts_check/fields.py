"""Fields of dataclasses and pydantic models, those of their bases and of nested ones too."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator

from .definitions import Definition
from .modules import Class, Module, Modules, dotted
from .values import UNKNOWN, text_of, value_of

MAPPINGS = {"dict", "Dict", "Mapping", "Any", "list", "List", "Sequence", "object"}
# Types that hold one of others: Optional[A], A | None, Annotated[A, ...].
WRAPPERS = {"Optional", "Union", "Annotated", "SkipJsonSchema"}


@dataclasses.dataclass(frozen=True)
class Field:
    name: str
    owner: Class
    annotation: ast.expr
    default: ast.expr | None
    line: int

    @property
    def module(self) -> Module:
        return self.owner.module

    def argument(self, name: str, position: int = -1) -> ast.expr | None:
        """Of field(...) or Field(...), if that is the default."""
        if not isinstance(self.default, ast.Call) or not self.is_call:
            return None
        for keyword in self.default.keywords:
            if keyword.arg == name:
                return keyword.value
        arguments = self.default.args
        return arguments[position] if 0 <= position < len(arguments) else None

    @property
    def is_call(self) -> bool:
        return isinstance(self.default, ast.Call) and dotted(self.default.func).split(".")[-1] in ("field", "Field")


def _field_name(node: ast.AnnAssign) -> str | None:
    if not isinstance(node.target, ast.Name) or "ClassVar" in ast.dump(node.annotation):
        return None
    name = node.target.id
    return None if name.startswith("_") or name == "model_config" else name


def fields_of(modules: Modules, found: Class) -> list[Field]:
    """Each once, as the class nearest to `found` has it."""
    fields: dict[str, Field] = {}
    for owner in reversed(modules.lineage(found)):
        for node in owner.node.body:
            if isinstance(node, ast.AnnAssign) and (name := _field_name(node)) is not None:
                fields[name] = Field(name, owner, node.annotation, node.value, node.lineno)
    return [field for field in fields.values() if not _is_internal(field)]


def _is_internal(field: Field) -> bool:
    init = field.argument("init")
    return isinstance(init, ast.Constant) and init.value is False


def missing_bases(modules: Modules, found: Class) -> Iterator[str]:
    """Bases in packages that are not there, so that fields are unknown."""
    for owner in modules.lineage(found):
        for base in owner.node.bases:
            name = dotted(base)
            if name and modules.base(owner, base) is None and _is_ours(modules, owner, name):
                yield f"{owner.node.name}: its base {name}"


def _is_ours(modules: Modules, owner: Class, name: str) -> bool:
    """pydantic's BaseModel, Enum, Protocol and the like define no keys."""
    source = getattr(owner.module.bindings.get(name.split(".")[0]), "module", "")
    return source.split(".")[0] not in ("pydantic", "enum", "abc", "typing", "torch", "collections") and bool(source)


def default_of(modules: Modules, field: Field):
    if not field.is_call:
        return UNKNOWN if field.default is None else value_of(modules, field.module, field.default)
    default = field.argument("default", 0)
    if default is not None:
        return value_of(modules, field.module, default)
    factory = field.argument("default_factory")
    if isinstance(factory, ast.Lambda):
        return value_of(modules, field.module, factory.body)
    empty = ast.Call(factory, [], []) if factory is not None else None
    return value_of(modules, field.module, empty)


def types_of(annotation: ast.expr) -> Iterator[ast.expr]:
    """The types that a value may have: A and None of Optional[A]."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        yield from types_of(ast.parse(annotation.value, mode="eval").body)
    elif isinstance(annotation, ast.BinOp):
        yield from types_of(annotation.left)
        yield from types_of(annotation.right)
    elif isinstance(annotation, ast.Subscript) and dotted(annotation).split(".")[-1] in WRAPPERS:
        inside = annotation.slice
        inside = getattr(inside, "value", inside) if type(inside).__name__ == "Index" else inside
        for each in inside.elts if isinstance(inside, ast.Tuple) else [inside]:
            yield from types_of(each)
    else:
        yield annotation


def _nested_classes(modules: Modules, field: Field) -> Iterator[Class]:
    """Classes whose fields are keys below this one: of its types, and of what makes the default."""
    candidates = [*types_of(field.annotation), field.argument("default_factory")]
    for expression in candidates:
        name = dotted(expression) if isinstance(expression, (ast.Name, ast.Attribute)) else ""
        found = modules.resolve(field.module, name) if name else None
        if found and isinstance(found[1], Class) and fields_of(modules, found[1]):
            yield found[1]


def _is_free(field: Field) -> bool:
    names = {dotted(each).split(".")[-1] for each in types_of(field.annotation)}
    return bool(names & MAPPINGS)


def _place(field: Field) -> str:
    return f"{field.module.name.replace('.', '/')}.py:{field.line}"


def _key_names(modules: Modules, field: Field) -> list[str]:
    """An alias of pydantic comes before the field's own name."""
    for argument in ("alias", "validation_alias"):
        alias = field.argument(argument)
        if alias is not None:
            value = value_of(modules, field.module, alias)
            return [value, field.name] if isinstance(value, str) else [field.name]
    return [field.name]


def definitions_of(modules: Modules, found: Class, is_nested: bool = True, above: tuple = ()) -> Iterator[Definition]:
    for field in fields_of(modules, found):
        nested = list(_nested_classes(modules, field)) if is_nested else []
        value = default_of(modules, field)
        names = _key_names(modules, field)
        for name in names:
            yield Definition(name, _place(field), text_of(value), not nested and name == names[0],
                             _is_free(field), value is True)
        for each in nested:
            if each.key not in above:
                for inner in definitions_of(modules, each, True, (*above, found.key)):
                    yield inner.under(names[0] + ".")
