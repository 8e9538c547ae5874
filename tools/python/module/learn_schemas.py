#!/usr/bin/env python3
"""Widens the schemas in tools/schemas by what the program prints: learn_schemas.py HIGHWATER LINES

LINES is a file of command lines, each of which prints JSON (`replay snapshot.pickle ...`). A schema
that is missing is begun; titles, descriptions and objects marked as maps (additionalProperties) are
kept. What has a schema of its own name widens that, everything else its command's. Keys that every
object at a place has are required there. Answers whose keys are rows (tools/json/members.hpp) have
their schema from these, and are left out.
"""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

os.environ["HIGHWATER_CONFIG"] = ""  # no defaults of whoever runs this

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
#: Objects whose keys are data: options, settings, categories.
MAPS = {"plan", "set", "at", "actions", "unknown_actions", "breakdown_at_peak", "parts_at_peak", "parameters", "halves"}
TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null",
         dict: "object", list: "array"}


def types_of(schema):
    given = schema.get("type", [])
    return [given] if isinstance(given, str) else list(given)


def add_type(schema, name):
    types = types_of(schema)
    if name == "integer" and "number" in types:
        return
    if name == "number" and "integer" in types:
        types.remove("integer")
    if name not in types:
        types.append(name)
    schema["type"] = types[0] if len(types) == 1 else sorted(types, key=lambda each: each == "null")


def widen(schema, value):
    """Makes `schema` admit `value`."""
    is_new_object = isinstance(value, dict) and "object" not in types_of(schema)
    add_type(schema, TYPES[type(value)])
    if isinstance(value, dict):
        widen_object(schema, value, is_new_object)
    elif isinstance(value, list):
        items = schema.setdefault("items", {})
        for each in value:
            widen(items, each)


def widen_object(schema, value, is_new):
    if isinstance(schema.get("additionalProperties"), dict):
        for each in value.values():
            widen(schema["additionalProperties"], each)
        return
    properties = schema.setdefault("properties", {})
    for key, each in value.items():
        widen(properties.setdefault(key, begun_map(key, each)), each)
    required = list(value) if is_new else [key for key in schema["required"] if key in value]
    schema["required"] = required


def begun_map(key, value):
    return {"additionalProperties": {}} if key in MAPS and isinstance(value, dict) else {}


def schema_file(command):
    return SCHEMAS / f"{command}.json"


def begun(command, version):
    return {"$schema": DIALECT, "$id": version, "title": f"What `highwater {command} --format json` prints"}


def is_made(highwater, name):
    """Whether the program makes the schema of that name itself."""
    run = subprocess.run([highwater, "schema"], text=True, stdout=subprocess.PIPE, check=True)
    return name in run.stdout.split() and not schema_file(name).exists()


def learn(highwater, line):
    words = shlex.split(line)
    run = subprocess.run([highwater, *words, "--format", "json"], text=True, stdout=subprocess.PIPE)
    if run.returncode not in (0, 1) and not run.stdout:  # a scan tells what it could not read in its rows
        sys.exit(f"{line}: exit code {run.returncode}")
    value = json.loads(run.stdout)
    name = value["schema"].removeprefix("highwater.").partition("/")[0]
    if is_made(highwater, name):
        return
    path = schema_file(name)
    path = path if path.exists() else schema_file(words[0])
    schema = json.loads(path.read_text()) if path.exists() else begun(words[0], value["schema"])
    versions = schema.get("properties", {}).get("schema", {}).get("enum", [])
    widen(schema, value)
    schema["properties"]["schema"] = {"enum": sorted({*versions, value["schema"]}, reverse=True)}
    path.write_text(json.dumps(schema, indent=1, ensure_ascii=False) + "\n")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    for line in Path(sys.argv[2]).read_text().splitlines():
        if line and not line.startswith("#"):
            learn(sys.argv[1], line)


if __name__ == "__main__":
    main()
