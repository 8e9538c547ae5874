"""The documents say how many models the program lists: counts_test.py HIGHWATER"""
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
#: Both say it, and others may; the changelog counts what was added.
PAGES = [ROOT / "README.md", *sorted((ROOT / "tools" / "docs").rglob("*.md"))]
COUNTING = {"README.md", "planning.md"}
PROGRAM = ""


def listed():
    table = subprocess.run([PROGRAM, "models", "--format", "csv"], stdout=subprocess.PIPE, check=True, text=True).stdout
    return len(table.splitlines()) - 1


class Counts(unittest.TestCase):
    def test_models(self):
        said = [(page.name, int(number)) for page in PAGES
                for number in re.findall(r"\b(\d+) models\s+by\s+name", page.read_text(encoding="utf-8"))]
        self.assertLessEqual(COUNTING, {name for name, _ in said})
        count = listed()
        for name, number in said:
            with self.subTest(name):
                self.assertEqual(number, count)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop()
    unittest.main()
