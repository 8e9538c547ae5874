#!/usr/bin/env python3
"""Writes the module's result classes from tools/schemas: make_results.py [--check]

One source per command in highwater/results/: a frozen data class for each object of its JSON, with
the JSON's keys as fields. --check writes nothing, and says which file differs.
"""

import json
import keyword
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCHEMAS = HERE.parents[1] / "schemas"
RESULTS = HERE / "highwater" / "results"
#: The commands whose answers the module returns, and the class of each.
COMMANDS = {"advise": "Advise", "diff": "Diff", "estimate": "Estimate", "explain": "Explain", "info": "Info",
            "models": "Models", "plan": "Plan", "replay": "Replay", "simulate": "Simulate", "sweep": "Sweep"}
SCALARS = {"boolean": "bool", "integer": "int", "number": "float", "string": "str", "null": "None"}


def camel(key):
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^0-9A-Za-z]+", key))


def singular(word):
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def field_name(key):
    name = re.sub(r"\W", "_", key)
    name = "_" + name if name[:1].isdigit() else name
    return name + "_" if keyword.iskeyword(name) else name


def types_of(schema):
    given = schema.get("type", ["string"] if "enum" in schema else [])
    return [given] if isinstance(given, str) else given


class Source:
    """The classes of one command, from the leaves up."""

    def __init__(self, command):
        self.schema = json.loads((SCHEMAS / f"{command}.json").read_text(encoding="utf-8"))
        self.command = command
        self.classes = {}
        self.root = COMMANDS[command]
        self.add_class(self.root, self.schema)

    def annotation(self, schema, name):
        """The type of a value and how it is made from JSON; None where it is taken as it is."""
        names, part = [], None
        for kind in types_of(schema) or ["any"]:
            if kind == "object":
                text, part = self.of_object(schema, name)
            elif kind == "array":
                text, part = self.of_array(schema, name)
            else:
                text = SCALARS.get(kind, "Any")
            names.append(text)
        is_mixed = part is not None and len(set(names) - {"None"}) > 1
        return " | ".join(dict.fromkeys(names)), "plain" if is_mixed else part

    def of_object(self, schema, name):
        each = schema.get("additionalProperties")
        if isinstance(each, dict):
            text, part = self.annotation(each, singular(name))
            return f"dict[str, {text}]", f"values({part})" if part else None
        if not schema.get("properties"):
            return "dict[str, Any]", None
        self.add_class(name, schema)
        return name, f"{name}.from_json"

    def of_array(self, schema, name):
        text, part = self.annotation(schema.get("items", {}), singular(name))
        return f"tuple[{text}, ...]", f"items({part or 'plain'})"

    def add_class(self, name, schema):
        required, optional, parts, renamed = [], [], [], {}
        for key, value in schema["properties"].items():
            text, part = self.annotation(value, name + camel(key))
            field = field_name(key)
            doc = value.get("description", "")
            if key in schema["required"]:
                required.append((field, text, "", doc))
            else:
                text = text if "None" in text.split(" | ") or text == "Any" else text + " | None"
                optional.append((field, text, " = None", doc))
            if part:
                parts.append((key, part))
            if field != key:
                renamed[key] = field
        self.classes[name] = class_text(self, name, schema, required + optional, parts, renamed)

    def text(self):
        command = self.command
        head = [f'"""What `highwater {command}` answers; written by make_results.py from '
                f'tools/schemas/{command}.json."""', "",
                "from __future__ import annotations", "",
                "from collections.abc import Callable, Mapping",
                "from dataclasses import dataclass",
                "from typing import Any, ClassVar", "",
                f"from highwater._results import {', '.join(self.helpers())}", ""]
        return "\n".join(head) + "".join(self.classes.values())

    def helpers(self):
        body = "".join(self.classes.values())
        return [name for name in ("Record", "Result", "items", "plain", "values")
                if re.search(rf"\({name}\)|{name}\(| {name},", body)]


def class_text(source, name, schema, fields, parts, renamed):
    base = "Result" if name == source.root else "Record"
    lines = ["", "", "@dataclass(frozen=True)", f"class {name}({base}):"]
    what = schema.get("description") or (schema["title"] + "." if name == source.root else f"A part of {source.root}.")
    lines.append(f'    """{what}"""')
    lines.append("")
    for field, text, default, doc in fields:
        lines += [f"    #: {doc}"] if doc else []
        lines.append(f"    {field}: {text}{default}")
    if renamed or parts:
        lines.append("")
    if renamed:
        lines.append("    _renamed: ClassVar[Mapping[str, str]] = {")
        lines += [f'        "{key}": "{field}",' for key, field in renamed.items()] + ["    }"]
    if parts:
        lines.append("    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {")
        lines += [f'        "{key}": {part},' for key, part in parts] + ["    }"]
    return "\n".join(lines) + "\n"


def lazy_text():
    """Each class is loaded when it is asked for: all of them take longer than the rest of the module."""
    names = "".join(f'    "{name}": "{command}",\n' for command, name in sorted(COMMANDS.items()))
    imports = "".join(f"    from highwater.results.{command} import {name} as {name}\n"
                      for command, name in sorted(COMMANDS.items()))
    return (f'"""What the commands answer, a class for each; written by make_results.py."""\n\n'
            "from __future__ import annotations\n\nimport importlib\nfrom typing import TYPE_CHECKING, Any\n\n"
            f"if TYPE_CHECKING:\n{imports}\n"
            f"_COMMANDS = {{\n{names}}}\n\n\n"
            "def __getattr__(name: str) -> Any:\n"
            "    if name not in _COMMANDS:\n"
            '        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")\n'
            '    return getattr(importlib.import_module(f"highwater.results.{_COMMANDS[name]}"), name)\n')


def files():
    yield RESULTS / "__init__.py", lazy_text()
    for command in COMMANDS:
        yield RESULTS / f"{command}.py", Source(command).text()


def main():
    is_check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not is_check:
        sys.exit(__doc__)
    RESULTS.mkdir(exist_ok=True)
    for path, text in files():
        if is_check and (not path.exists() or path.read_text(encoding="utf-8") != text):
            sys.exit(f"{path}: differs from the schemas; run tools/python/module/make_results.py")
        if not is_check:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
