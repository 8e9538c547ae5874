#!/usr/bin/env python3
"""Compiles sources one by one, without making code: compile_alone.py BUILD_DIR MINUTES [FOLDER...]

BUILD_DIR has a compile_commands.json of a configuration with HIGHWATER_UNITY off. A room is built as
one translation unit, where a source may lack an include, or use a private function of its neighbour,
without anyone noticing; moving a file then breaks the build. Compiles the sources in FOLDER (those
below it are others), all sources without one; after MINUTES the rest is left out and counted.
Prints the errors and exits with 1 if there are any.
"""

import concurrent.futures
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path


def chosen(commands, folders):
    """The commands of the sources in `folders`, each source once."""
    wanted = {Path(folder).resolve() for folder in folders}
    by_source = {command["file"]: command for command in commands}
    return [command for source, command in sorted(by_source.items())
            if not wanted or Path(source).resolve().parent in wanted]


def words_without_output(command):
    """The compiler and its arguments; without a cache in front, and without an object file."""
    words = shlex.split(command["command"])
    compiler = next(i for i, word in enumerate(words) if Path(word).name in ("c++", "g++", "clang++"))
    words = words[compiler:]
    output = words.index("-o")
    del words[output:output + 2]
    return [word for word in words if word != "-c"] + ["-fsyntax-only"]


def errors_of(command, deadline):
    """What the compiler says; None if there was no time to ask."""
    if time.monotonic() > deadline:
        return None
    done = subprocess.run(words_without_output(command), cwd=command["directory"],
                          capture_output=True, text=True)
    return done.stderr if done.returncode != 0 else ""


def main():
    build, minutes, folders = Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
    commands = chosen(json.loads((build / "compile_commands.json").read_text()), folders)
    deadline = time.monotonic() + 60 * minutes
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda command: errors_of(command, deadline), commands))
    for errors in filter(None, found):
        print(errors, file=sys.stderr)
    print(f"compiled alone: {len(found) - found.count(None)} sources, "
          f"{sum(map(bool, found))} with errors")
    if None in found:
        print(f"Not compiled (out of time): {found.count(None)} sources.")
    return 1 if any(found) else 0


if __name__ == "__main__":
    sys.exit(main())
