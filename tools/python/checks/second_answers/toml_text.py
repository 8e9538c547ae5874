"""TOML as far as torchtitan's files need it: tables of plain values."""

import json


def value_text(value):
    return json.dumps(value) if not isinstance(value, float) else repr(value)


def toml_text(values, section=""):
    """Plain values first, then the tables below."""
    plain = {name: value for name, value in values.items() if not isinstance(value, dict)}
    lines = [f"[{section}]"] if section and plain else []
    lines += [f"{name} = {value_text(value)}" for name, value in plain.items()]
    for name, value in values.items():
        if isinstance(value, dict):
            lines.append(toml_text(value, f"{section}.{name}" if section else name))
    return "\n".join(lines) + "\n"
