#!/usr/bin/env python3
"""Writes the module's result classes from the program's schemas: make_results.py HIGHWATER FOLDER

FOLDER becomes highwater/results of the build. One source per command: a frozen data class for each object of its
JSON, with the JSON's keys as fields; objects of one form are one class, in shared.py where several commands have them.
"""

from __future__ import annotations

import dataclasses
import json
import keyword
import os
import re
import subprocess
import sys
from pathlib import Path

os.environ["HIGHWATER_CONFIG"] = ""  # no defaults of whoever runs this

#: The commands whose answers the module returns, and the class of each.
COMMANDS = {"advise": "Advise", "captures": "Captures", "chance": "Chance", "diff": "Diff", "estimate": "Estimate", "explain": "Explain",
            "fit": "Fit", "gpus": "Gpus", "info": "Info", "models": "Models", "phases": "Phases", "plan": "Plan", "reduce": "Reduce", "replay": "Replay",
             "scaled": "Scaled", "scan": "Scan", "simulate": "Simulate", "solve": "Solve", "sweep": "Sweep",
             "validate": "Validate"}
SCALARS = {"boolean": "bool", "integer": "int", "number": "float", "string": "str", "null": "None"}


def schema_of(highwater, command):
    return json.loads(subprocess.run([highwater, "schema", command], check=True, text=True, stdout=subprocess.PIPE).stdout)


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


@dataclasses.dataclass(frozen=True)
class Field:
    key: str
    type: str        # with the numbers of shapes in braces
    is_required: bool
    part: str | None  # how it is made from JSON; None where it is taken as it is
    # Objects with the same keys are one class, described or not.
    doc: str = dataclasses.field(compare=False)


@dataclasses.dataclass(frozen=True)
class Shape:
    """An object of the JSON; equal ones are one class, wherever they stand."""
    doc: str
    fields: tuple


class Shapes:
    """Of all commands, from the leaves up: a shape comes after those that it holds."""

    def __init__(self, highwater):
        self.highwater = highwater
        self.numbers = {}  # Shape -> number
        self.uses = []     # of each, (command, name as its keys make it)

    def of_command(self, command):
        schema = schema_of(self.highwater, command)
        name = COMMANDS[command]
        fields = tuple(self.fields(schema, name, command))
        return Shape(schema["title"] + ".", fields)

    def fields(self, schema, name, command):
        for key, value in schema["properties"].items():
            text, part = self.annotation(value, name + camel(key), command)
            is_required = key in schema["required"]
            if not is_required and "None" not in text.split(" | ") and text != "Any":
                text += " | None"
            yield Field(key, text, is_required, part, value.get("description", ""))

    def annotation(self, schema, name, command):
        names, part = [], None
        for kind in types_of(schema) or ["any"]:
            if kind == "object":
                text, part = self.of_object(schema, name, command)
            elif kind == "array":
                text, part = self.of_array(schema, name, command)
            else:
                text = SCALARS.get(kind, "Any")
            names.append(text)
        is_mixed = part is not None and len(set(names) - {"None"}) > 1
        return " | ".join(dict.fromkeys(names)), "plain" if is_mixed else part

    def of_object(self, schema, name, command):
        each = schema.get("additionalProperties")
        if isinstance(each, dict):
            text, part = self.annotation(each, singular(name), command)
            return f"dict[str, {text}]", f"values({part})" if part else None
        if not schema.get("properties"):
            return "dict[str, Any]", None
        shape = Shape("", tuple(self.fields(schema, name, command)))  # its description is of the key that holds it
        number = self.numbers.setdefault(shape, len(self.numbers))
        if number == len(self.uses):
            self.uses.append([])
        self.uses[number].append((command, name))
        return f"{{{number}}}", f"{{{number}}}.from_json"

    def of_array(self, schema, name, command):
        text, part = self.annotation(schema.get("items", {}), singular(name), command)
        return f"tuple[{text}, ...]", f"items({part or 'plain'})"


def words_of(name, command):
    """The words of a class's name without its command's."""
    return re.findall("[A-Z][a-z0-9]*|[a-z0-9]+", name[len(COMMANDS[command]):])


def common_end(names):
    """What all names end with."""
    ends = [words[0] for words in zip(*map(reversed, names)) if len(set(words)) == 1]
    alike = next((place for place, words in enumerate(zip(*map(reversed, names))) if len(set(words)) > 1), len(ends))
    return "".join(reversed(ends[:alike]))


def class_names(uses):
    """Of each shape: of one use, the name that its keys make; of several, what their names end with, else the first."""
    taken, names = set(COMMANDS.values()), []
    for each in uses:
        name = each[0][1] if len(each) == 1 else common_end([words_of(name, command) for command, name in each])
        if not name or name in taken or (len(each) > 1 and len({command for command, _ in each}) == 1):
            name = each[0][1]
        taken.add(name)
        names.append(name)
    return names


SHARED = "shared"


class Sources:
    """The text of each file: a command's own classes, and those that several have."""

    def __init__(self, highwater):
        self.shapes = Shapes(highwater)
        self.roots = {command: self.shapes.of_command(command) for command in COMMANDS}
        self.names = class_names(self.shapes.uses)
        self.homes = [each[0][0] if len({command for command, _ in each}) == 1 else SHARED for each in self.shapes.uses]

    def text(self, home):
        made = [(number, self.class_of(self.names[number], "Record", shape, home))
                for shape, number in self.shapes.numbers.items() if self.homes[number] == home]
        body = "".join(text for _, text in made)
        if home in self.roots:
            body += self.class_of(COMMANDS[home], "Result", self.roots[home], home)
        origin = f"`highwater schema {home}`" if home in self.roots else "`highwater schema`"
        about = f"What `highwater {home}` answers" if home in self.roots else "What several answers hold"
        code = re.sub(r'#:.*|""".*"""', "", body)
        typing = [name for name in ("Any", "ClassVar") if re.search(rf"\b{name}\b", code)]
        abc = [name for name in ("Callable", "Mapping") if re.search(rf"\b{name}\[", code)]
        others = sorted(name for number, name in enumerate(self.names)
                        if self.homes[number] == SHARED != home and re.search(rf"\b{name}\b", code))
        helpers = [name for name in ("Record", "Result", "items", "plain", "values")
                   if re.search(rf"\({name}\)|{name}\(| {name},", code)]
        head = [f'"""{about}; written by make_results.py from {origin}."""', "", "from __future__ import annotations", "",
                *([f"from collections.abc import {', '.join(abc)}"] if abc else []),
                "from dataclasses import dataclass",
                *([f"from typing import {', '.join(typing)}"] if typing else []), "",
                f"from highwater._results import {', '.join(helpers)}",
                *([f"from highwater.results.{SHARED} import {', '.join(others)}"] if others else []), ""]
        return "\n".join(head) + body

    def class_of(self, name, base, shape, home):
        about = shape.doc or ("A part of several answers." if home == SHARED else f"A part of {COMMANDS[home]}.")
        lines = ["", "", "@dataclass(frozen=True)", f"class {name}({base}):", f'    """{about}"""', ""]
        for field in sorted(shape.fields, key=lambda field: not field.is_required):
            lines += [f"    #: {field.doc}"] if field.doc else []
            lines.append(f"    {field_name(field.key)}: {self.named(field.type)}{'' if field.is_required else ' = None'}")
        renamed = [field.key for field in shape.fields if field_name(field.key) != field.key]
        parts = [(field.key, self.named(field.part)) for field in shape.fields if field.part]
        lines += [""] if renamed or parts else []
        if renamed:
            lines += ["    _renamed: ClassVar[Mapping[str, str]] = {",
                      *(f'        "{key}": "{field_name(key)}",' for key in renamed), "    }"]
        if parts:
            lines += ["    _parts: ClassVar[Mapping[str, Callable[[Any], Any]]] = {",
                      *(f'        "{key}": {part},' for key, part in parts), "    }"]
        return "\n".join(lines) + "\n"

    def named(self, text):
        return re.sub(r"\{(\d+)\}", lambda found: self.names[int(found[1])], text)


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


def files(highwater):
    """(file name, text)."""
    sources = Sources(highwater)
    for home in (*COMMANDS, SHARED):
        yield f"{home}.py", sources.text(home)
    yield "__init__.py", lazy_text()


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files(sys.argv[1]):
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
