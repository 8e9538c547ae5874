"""What the wheel is linked from can be linked, and starts on the systems that it is for: static_test.py CXX FOLDER BUILD

Its libraries come from archives, and code that is not position-independent cannot become a shared
library (tools/build/libraries.cmake). Here all of them do, by a project of one source, and are loaded; a program
beside them starts. Both take only what glibc 2.28 has (tools/build/old_glibc.cpp), and what this build's own program
and libraries take besides is found there. A whole wheel is checked by tools/python/checks/check_wheel.py.
"""
import ctypes
import shutil
import subprocess
import sys
import unittest
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "tools" / "python" / "checks"))

import check_wheel  # noqa: E402

COMPILER, FOLDER, BUILD = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
SOURCE = Path(__file__).parent / "static"
#: Of the name of the wheel: RHEL 8 and Debian 10 have it.
GLIBC = (2, 28)
LIBRARY, PROGRAM = FOLDER / "libstatic_libraries.so", FOLDER / "static_program"


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


def newer_symbols(file):
    """What `file` takes from a glibc newer than the wheel's."""
    return {symbol for symbol, family, number in check_wheel.dynamic_facts(file)[2] if family == "GLIBC" and number > GLIBC}


def own_symbols():
    """What this project defines in the place of glibc."""
    objects = FOLDER.glob("CMakeFiles/highwater_old_glibc*.dir/**/*.o")
    return {line.split()[-1] for file in objects for line in check_wheel.binutils("nm", "--defined-only", file).splitlines()}


class Static(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(FOLDER, ignore_errors=True)
        for words in (["-G", "Ninja", "-S", SOURCE, "-B", FOLDER, f"-DCMAKE_CXX_COMPILER={COMPILER}"], ["--build", FOLDER]):
            done = run("cmake", *words)
            if done.returncode != 0:
                raise AssertionError(done.stdout + done.stderr)

    def wheel(self, platform, *files):
        """A file named as a wheel of `platform`, with `files` in it."""
        path = FOLDER / f"highwater_gpu-0-cp311-cp311-{platform}.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for file in files:
                archive.write(file, file.name)
        return path

    def test_archives_become_a_shared_library(self):
        self.assertTrue(ctypes.CDLL(str(LIBRARY)).entry)

    def test_a_program_runs_its_constructors_once(self):
        self.assertEqual(run(PROGRAM, "word").stdout, "1 word 4 1 1 1\n")

    def test_both_start_under_the_oldest_glibc(self):
        self.assertEqual(check_wheel.problems_of(self.wheel("manylinux_2_28_x86_64", LIBRARY, PROGRAM)), [])

    def test_a_wheel_that_promises_too_much_is_found(self):
        [problem, *_] = check_wheel.problems_of(self.wheel("manylinux_2_17_x86_64", LIBRARY, PROGRAM))
        self.assertIn("libstatic_libraries.so: takes ", problem)
        self.assertIn("the name promises glibc 2.17", problem)

    def test_a_file_in_the_program_is_found(self):
        """The system's libstdc++ stands for a library that was embedded as it came."""
        library = Path(run(COMPILER, "-print-file-name=libstdc++.so.6").stdout.strip()).resolve()
        carrier = FOLDER / "carrier"
        carrier.write_bytes(PROGRAM.read_bytes() + b"between" + library.read_bytes() + b"behind")
        problems = check_wheel.problems_of(self.wheel("manylinux_2_28_x86_64", carrier))
        self.assertTrue(problems)
        for problem in problems:
            self.assertIn(f"carrier, at byte {PROGRAM.stat().st_size + len('between')} of it: libstdc++.so.6: takes ", problem)

    def test_a_library_that_is_not_everywhere_is_found(self):
        program = FOLDER / "needs_zlib"
        built = run(COMPILER, "-std=c++20", SOURCE / "program.cpp", "-o", program, "-Wl,--no-as-needed", "-lz")
        self.assertEqual(built.returncode, 0, built.stderr)
        problems = check_wheel.problems_of(self.wheel("manylinux_2_28_x86_64", program))
        self.assertTrue(any("needs libz.so.1" in problem for problem in problems), problems)

    def test_wheels_without_promise_or_program_are_refused(self):
        [problem] = check_wheel.problems_of(self.wheel("linux_x86_64", PROGRAM))
        self.assertIn("promises no glibc", problem)
        [problem] = check_wheel.problems_of(self.wheel("manylinux_2_28_x86_64", SOURCE / "program.cpp"))
        self.assertIn("no program and no library", problem)

    def test_what_this_build_takes_from_newer_glibcs_is_defined_here(self):
        built = [BUILD / "highwater", *(BUILD / "python" / "highwater").glob("_native*.so"),
                 *(file for file in (BUILD / "fakecuda").rglob("*") if file.is_file())]
        self.assertGreater(len(built), 30)
        own = own_symbols()
        missing = {file.name: names for file in built if (names := newer_symbols(file) - own)}
        self.assertEqual(missing, {}, "tools/build/old_glibc.cpp lacks them")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
