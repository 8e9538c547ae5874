#!/usr/bin/env python3
"""Checks that includes follow the rooms: check_rooms.py SOURCE_DIR ROOMS_FILE

ROOMS_FILE has a line per room, written by CMake: "workloads/nn: workloads/eager ...", the rooms that
it links. A source may include headers of its own room and of the rooms that it links, not of those
that these link; a room that is linked is included. No room links itself through others. A parser of options is included in tools/options,
the rooms in it, and tools/commands only. No folder holds more than 40 sources and headers. Prints every line that is
wrong and exits with 1.
"""

import re
import sys
from pathlib import Path

LAYERS = ("traces", "allocator", "sim", "workloads", "tools")
MOST_FILES = 40
PARSER = "boost/program_options"
PARSER_ROOMS = ("tools/options", "tools/commands")
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)


def read_rooms(text):
    """{room: the rooms it links}; libraries are left out."""
    rooms = {}
    for line in text.splitlines():
        room, _, links = line.partition(":")
        rooms[room] = [link for link in links.split() if link.split("/")[0] in LAYERS]
    return rooms


def cycles_of(rooms):
    """The circles of links, each as the rooms on the way."""
    done, cycles, path = set(), [], []

    def visit(room):
        if room in path:
            cycles.append(path[path.index(room):] + [room])
        elif room not in done:
            path.append(room)
            for link in rooms.get(room, []):
                visit(link)
            path.pop()
            done.add(room)

    for room in rooms:
        visit(room)
    return cycles


def sources_of(folder):
    return sorted([*folder.glob("*.cpp"), *folder.glob("*.hpp")])


def includes_of(source):
    """(line number, included path) of each include."""
    text = source.read_text(encoding="utf-8")
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start(1)) + 1, match.group(1)


def room_of(header):
    return str(Path(header).parent)


def include_problem(room, header, rooms):
    """Why `room` may not include `header`; None if it may."""
    if header.startswith(PARSER) and not room.startswith(PARSER_ROOMS):
        return f"the parser of options belongs in {' and '.join(PARSER_ROOMS)}"
    target = room_of(header)
    if target in rooms and target != room and target not in rooms[room]:
        return (f"{room} does not link {target}; move the code, or add the link in "
                f"{room.split('/')[0]}/CMakeLists.txt")
    return None


def check_includes(root, room, rooms):
    used = set()
    for source in sources_of(root / room):
        for line, header in includes_of(source):
            used.add(room_of(header))
            problem = include_problem(room, header, rooms)
            if problem:
                yield f"{source.relative_to(root)}:{line}: includes {header}: {problem}"
    for link in rooms[room]:
        if link not in used:
            yield f"{room}: links {link} and includes nothing of it; remove the link"


def check_sizes(root):
    folders = [root / top for top in (*LAYERS, "tests")]
    for folder in [f for top in folders for f in (top, *top.rglob("*")) if f.is_dir()]:
        count = len(sources_of(folder))
        if count > MOST_FILES:
            yield (f"{folder.relative_to(root)}: {count} sources and headers; a folder holds at "
                   f"most {MOST_FILES}, so split it")


def check(root, rooms):
    problems = ["these rooms link each other in a circle: " + " -> ".join(c) for c in cycles_of(rooms)]
    problems += [f"{room}: links {link}, which is not a room"
                 for room, links in rooms.items() for link in links if link not in rooms]
    for room in rooms:
        problems += check_includes(root, room, rooms)
    return problems + list(check_sizes(root))


def main():
    root, rooms_file = Path(sys.argv[1]), Path(sys.argv[2])
    problems = check(root, read_rooms(rooms_file.read_text(encoding="utf-8")))
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
