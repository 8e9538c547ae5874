#!/usr/bin/env python3
"""Checks that includes follow the rooms: tools/python/checks/check_rooms.py SOURCE_DIR ROOMS_FILE

ROOMS_FILE has a line per room, written by CMake: "workloads/nn: workloads/eager ...", the rooms that
it links. A source may include headers of its own room and of the rooms that it links, directly or
through them. A room links no room above itself and holds at most 40 sources and headers. Prints every
line that is wrong and exits with 1.
"""

import re
import sys
from pathlib import Path

LAYERS = ("traces", "allocator", "sim", "workloads", "tools")
MOST_FILES = 40
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def read_rooms(text):
    """{room: the rooms it links}; libraries are left out."""
    rooms = {}
    for line in text.splitlines():
        room, _, links = line.partition(":")
        rooms[room] = [link for link in links.split() if link.split("/")[0] in LAYERS]
    return rooms


def reach(rooms):
    """{room: all rooms below it}, and the cycles found on the way."""
    below, cycles, path = {}, [], []

    def visit(room):
        if room in path:
            cycles.append(path[path.index(room):] + [room])
            return set()
        if room not in below:
            path.append(room)
            found = set()
            for link in rooms.get(room, []):
                found |= {link} | visit(link)
            path.pop()
            below[room] = found
        return below[room]

    for room in rooms:
        visit(room)
    return below, cycles


def includes_of(source):
    """(line number, included path) of each quoted include."""
    text = source.read_text(encoding="utf-8")
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start(1)) + 1, match.group(1)


def check_includes(root, room, rooms, below):
    problems = []
    sources = sorted([*(root / room).glob("*.cpp"), *(root / room).glob("*.hpp")])
    if len(sources) > MOST_FILES:
        problems.append(f"{room}: {len(sources)} sources and headers, at most {MOST_FILES}; split the room")
    for source in sources:
        for line, header in includes_of(source):
            target = str(Path(header).parent)
            if target in rooms and target != room and target not in below[room]:
                name = source.relative_to(root)
                problems.append(
                    f"{name}:{line}: includes {header}, but {room} does not link {target}; "
                    f"move the code, or add the link in {room.split('/')[0]}/CMakeLists.txt")
    return problems


def check(root, rooms):
    below, cycles = reach(rooms)
    problems = ["rooms in a cycle: " + " -> ".join(cycle) for cycle in cycles]
    problems += [f"{room}: links {link}, which is not a room"
                 for room, links in rooms.items() for link in links if link not in rooms]
    for room in rooms:
        problems += check_includes(root, room, rooms, below)
    return problems


def main():
    root, rooms_file = Path(sys.argv[1]), Path(sys.argv[2])
    problems = check(root, read_rooms(rooms_file.read_text(encoding="utf-8")))
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
