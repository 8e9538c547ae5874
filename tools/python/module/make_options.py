#!/usr/bin/env python3
"""Writes highwater/_option_names.py from the program's help: make_options.py HIGHWATER [--check]"""

import re
import subprocess
import sys
from pathlib import Path

TARGET = Path(__file__).resolve().parent / "highwater" / "_option_names.py"
OPTION = re.compile(r"^  (?:-\w \[ )?--([a-z0-9-]+)(?: \])?(\S*)( \S+)?", re.MULTILINE)


def help_of(highwater, command):
    for detail in ("--help-all", "--help"):
        run = subprocess.run([highwater, command, detail], text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
        if run.returncode == 0:
            return run.stdout
    sys.exit(f"{highwater} {command} --help: failed")


def commands_of(highwater):
    text = subprocess.run([highwater, "--help"], text=True, stdout=subprocess.PIPE, check=True).stdout
    return re.findall(r"^  ([a-z]+)  +\S", text.split("Version presets")[0], re.MULTILINE)


def options_of(highwater, command):
    """{name: whether it takes a value}."""
    return {name: bool(optional) or bool(value) and len(value.strip()) > 0 and not value.startswith("  ")
            for name, optional, value in OPTION.findall(help_of(highwater, command))}


def listed(name, words):
    return f"{name} = frozenset({{\n" + "".join(f'    "{word}",\n' for word in sorted(words)) + "})\n"


def text_for(highwater):
    options = {command: options_of(highwater, command) for command in commands_of(highwater)}
    switches = {name for each in options.values() for name, takes_value in each.items() if not takes_value}
    report = set(options["report"]) - {"help", "help-all", "output", "format"}
    return ('"""What the program\'s help says of its options; written by make_options.py."""\n\n'
            f"#: Those that take no value.\n{listed('SWITCHES', switches)}\n"
            f"#: Those of the report, which draws what other commands answer.\n{listed('OF_REPORT', report)}")


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--check"]):
        sys.exit(__doc__)
    text = text_for(sys.argv[1])
    if sys.argv[2:] and TARGET.read_text(encoding="utf-8") != text:
        sys.exit(f"{TARGET}: differs from the help; run tools/python/module/make_options.py HIGHWATER")
    if not sys.argv[2:]:
        TARGET.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
