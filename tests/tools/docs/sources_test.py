"""Runs every command of tools/docs/sources.md and looks for what the page says comes out:
sources_test.py HIGHWATER

What stands in backticks in the column "comes out" has to be in the command's output, where runs of
blanks count as one.
"""
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "tools" / "docs" / "sources.md"
COLUMNS = ["system, method or figure", "source", "command", "comes out", "proof"]
CODE = re.compile(r"`([^`]+)`")


def table():
    """The rows of the page's table: its cells by column; headings between rows are left out."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    rows = [re.split(r"\s*\|\s*", line.strip())[1:-1] for line in lines]
    assert rows[0] == COLUMNS, rows[0]
    return [dict(zip(COLUMNS, row)) for row in rows[2:] if not row[0].startswith("**")]


def one_blank(text):
    return re.sub(r"\s+", " ", text)


class Sources(unittest.TestCase):
    program = ""

    def run_row(self, row):
        words = shlex.split(CODE.fullmatch(row["command"])[1])
        self.assertEqual(words[0], "highwater")
        done = subprocess.run([self.program, *words[1:]], cwd=ROOT, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        for wanted in CODE.findall(row["comes out"]):
            self.assertIn(one_blank(wanted), one_blank(done.stdout))

    def test_every_command(self):
        for row in table():
            with self.subTest(row["system, method or figure"]):
                self.assertEqual(len(row), len(COLUMNS))
                if row["command"] == "none":
                    self.assertTrue(row["proof"].startswith("not reproducible: "))
                else:
                    self.run_row(row)

    def test_the_table_is_whole(self):
        self.assertGreater(len(table()), 50)


if __name__ == "__main__":
    Sources.program = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
