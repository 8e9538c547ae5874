"""The wheel's module can be linked, and runs on the systems that it is for: static_test.py CXX FOLDER

Its libraries come from archives, and code that is not position-independent cannot become a shared
library (tools/build/libraries.cmake). Here all of them do, by a project of one source, and are loaded.
"""
import ctypes
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

COMPILER, FOLDER = sys.argv[1], Path(sys.argv[2])
SOURCE = Path(__file__).parent / "static"
#: Ubuntu 22.04 has 2.35, RHEL 9 has 2.34.
NEWEST_GLIBC = (2, 34)


def glibc_releases(library):
    """{symbol: release} of what `library` takes from glibc."""
    symbols = subprocess.run(["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"(\S+)@+GLIBC_(\d+)\.(\d+)", symbols)
    return {name: (int(major), int(minor)) for name, major, minor in found}


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
        newer = {name: release for name, release in glibc_releases(library._name).items() if release > NEWEST_GLIBC}
        self.assertEqual(newer, {})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
