"""Runs the commands of tools/docs/stories.md and scaling.md and compares what they print with the page:
stories_test.py HIGHWATER

`...` alone stands for any lines, at the end of a line or within it for the rest of that part.
"""
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
DOCUMENTS = ROOT / "tools" / "docs"
BLOCK = re.compile(r"^```\n\$ (highwater [^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: The pages, and the fewest commands that each has.
PAGES = {"stories.md": 10, "scaling.md": 4}


def pattern(shown):
    """What a block shows as an expression: `...` is whatever stands there."""
    lines = [r"(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + r"\n"
             for line in shown.splitlines()]
    return "".join(lines)


class Stories(unittest.TestCase):
    program = ""

    def test_every_command(self):
        for page, fewest in PAGES.items():
            blocks = BLOCK.findall((DOCUMENTS / page).read_text())
            self.assertGreaterEqual(len(blocks), fewest, page)
            self.compare(blocks)

    def compare(self, blocks):
        for command, shown in blocks:
            with self.subTest(command):
                words = shlex.split(command)[1:]
                done = subprocess.run([self.program, *words], cwd=ROOT, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout, r"\A" + pattern(shown))


if __name__ == "__main__":
    Stories.program = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
