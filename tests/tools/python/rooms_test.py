"""The check of includes between rooms: what it lets pass, and each thing it has to find.

rooms_test.py ROOMS_FILE: the file that CMake wrote for this build.
"""

import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools" / "python" / "checks"))

import check_rooms  # noqa: E402

ROOMS = "traces:\nsim: traces\ntools/studies: sim Boost::json\ntools/options: tools/studies\n"

#: A header of each room, and one of the room that it links.
ALL_LINKS_USED = {"traces/units.hpp": "vector", "sim/replay.hpp": "traces/units.hpp",
                  "tools/studies/simulate.hpp": "sim/replay.hpp", "tools/options/parse.hpp": "tools/studies/simulate.hpp"}


class TemporaryTree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for header, below in ALL_LINKS_USED.items():
            self.write(header, f'#pragma once\n#include "{below}"\n')

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def problems(self, rooms=ROOMS):
        return check_rooms.check(self.root, check_rooms.read_rooms(rooms))

    def test_includes_of_linked_rooms_pass(self):
        self.write("tools/studies/run.cpp", '#include "sim/replay.hpp"\n')
        self.assertEqual(self.problems(), [])

    def test_an_include_of_a_room_that_only_a_linked_room_links_is_found(self):
        self.write("tools/studies/run.cpp", '#include "sim/replay.hpp"\n#include "traces/units.hpp"\n')
        [problem] = self.problems()
        self.assertIn("tools/studies/run.cpp:2: includes traces/units.hpp: tools/studies does not link traces", problem)

    def test_a_link_that_nothing_includes_is_found(self):
        [problem] = self.problems(ROOMS.replace("tools/studies: sim", "tools/studies: traces sim"))
        self.assertEqual(problem, "tools/studies: links traces and includes nothing of it; remove the link")

    def test_an_include_against_the_links_is_found_with_its_line(self):
        self.write("sim/replay.cpp", '#include "sim/replay.hpp"\n\n#include "tools/studies/simulate.hpp"\n')
        [problem] = self.problems()
        self.assertIn("sim/replay.cpp:3: includes tools/studies/simulate.hpp", problem)
        self.assertIn("sim/CMakeLists.txt", problem)

    def test_a_parser_of_options_below_the_options_is_found(self):
        self.write("tools/studies/run.cpp", "#include <boost/program_options/variables_map.hpp>\n")
        self.write("tools/options/parse.cpp", "#include <boost/program_options/variables_map.hpp>\n")
        [problem] = self.problems()
        self.assertIn("tools/studies/run.cpp:1", problem)

    def test_rooms_in_a_circle_are_found(self):
        self.write("traces/units.hpp", '#include "sim/replay.hpp"\n')
        [problem] = self.problems("traces: sim\nsim: traces\n")
        self.assertIn("traces -> sim -> traces", problem)

    def test_a_link_to_what_is_no_room_is_found(self):
        self.assertIn("sim: links traces/formats", self.problems("sim: traces/formats\n")[0])

    def test_a_folder_of_more_than_forty_is_found(self):
        for i in range(check_rooms.MOST_FILES + 1):
            self.write(f"tests/sim/case_{i}.cpp", "")
        [problem] = self.problems()
        self.assertIn("tests/sim: 41 sources", problem)


class ThisProject(unittest.TestCase):
    def test_its_includes_follow_its_rooms(self):
        rooms = check_rooms.read_rooms(pathlib.Path(ROOMS_FILE).read_text(encoding="utf-8"))
        self.assertGreater(len(rooms), 40)
        self.assertEqual(check_rooms.check(ROOT, rooms), [])

    def test_every_folder_of_sources_in_a_layer_is_a_room(self):
        rooms = check_rooms.read_rooms(pathlib.Path(ROOMS_FILE).read_text(encoding="utf-8"))
        for layer in ("traces", "allocator", "sim", "workloads"):
            for source in (ROOT / layer).rglob("*.cpp"):
                self.assertIn(str(source.parent.relative_to(ROOT)), rooms)


if __name__ == "__main__":
    ROOMS_FILE = sys.argv.pop(1)
    unittest.main()
