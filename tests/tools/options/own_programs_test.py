"""A program that a user describes is read by --from: own_programs_test.py HIGHWATER README

The file of facts is the example of workloads/facts/README.md.
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HIGHWATER = sys.argv.pop(1)
README = Path(sys.argv.pop(1))
LINE = ("torchrun --nproc_per_node 8 finetune_ours.py --model_name_or_path gpt2 --context 512 --team red --bf16 True "
        "--per_device_train_batch_size 2")
BAD_INPUT = 3


class OwnPrograms(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)
        self.folder = Path(self.home.name) / ".config" / "highwater" / "programs"
        self.folder.mkdir(parents=True)
        self.example = re.search(r"```json\n(.*?)```", README.read_text(), re.DOTALL)[1]

    def ask(self, **environment):
        kept = {name: value for name, value in os.environ.items() if name not in ("XDG_CONFIG_HOME", "HIGHWATER_PROGRAMS")}
        return subprocess.run([HIGHWATER, "simulate", "--from", LINE, "--print-options"], capture_output=True, text=True,
                              check=False, env={**kept, "HOME": self.home.name, **environment})

    def test_the_example_is_read(self):
        self.assertNotIn("--seq 512", self.ask().stdout)
        (self.folder / "ours.json").write_text(self.example)
        answer = self.ask()
        self.assertEqual(answer.returncode, 0, answer.stderr)
        first = answer.stdout.splitlines()[0]
        for option in ("--model gpt2", "--seq 512", "--batch 2", "--dp 8", "--framework trainer"):
            self.assertIn(option, first)
        self.assertRegex(answer.stdout, r"team +red +no effect +names and paths only")

    def test_other_folders(self):
        other = Path(self.home.name) / "other"
        (other / "highwater" / "programs").mkdir(parents=True)
        (other / "highwater" / "programs" / "ours.json").write_text(self.example)
        self.assertIn("--seq 512", self.ask(XDG_CONFIG_HOME=str(other)).stdout)
        self.assertIn("--seq 512", self.ask(HIGHWATER_PROGRAMS=str(other / "highwater" / "programs")).stdout)

    def test_a_wrong_file_is_named(self):
        (self.folder / "wrong.json").write_text(self.example.replace('"context"', "3"))
        answer = self.ask()
        self.assertEqual(answer.returncode, BAD_INPUT)
        self.assertIn(f"{self.folder / 'wrong.json'}: keys[0].keys[0]: expected a string", answer.stderr)


if __name__ == "__main__":
    unittest.main()
