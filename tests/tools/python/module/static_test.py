"""The wheel's module can be linked: static_test.py CXX FOLDER

Its libraries come from archives, and code that is not position-independent cannot become a shared
library (tools/build/libraries.cmake). Here all of them do, by a project of one source, and are loaded.
"""
import ctypes
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

COMPILER, FOLDER = sys.argv[1], Path(sys.argv[2])
SOURCE = Path(__file__).parent / "static"


class Static(unittest.TestCase):
    def run_cmake(self, *words):
        done = subprocess.run(["cmake", *words], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_archives_become_a_shared_library(self):
        shutil.rmtree(FOLDER, ignore_errors=True)
        self.run_cmake("-G", "Ninja", "-S", SOURCE, "-B", FOLDER, f"-DCMAKE_CXX_COMPILER={COMPILER}")
        self.run_cmake("--build", FOLDER)
        library = ctypes.CDLL(str(FOLDER / "libstatic_libraries.so"))
        self.assertTrue(library.entry)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
