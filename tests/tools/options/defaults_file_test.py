"""A user's own defaults of options: defaults_file_test.py HIGHWATER RECORDING

RECORDING is a small recorded run.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HIGHWATER = sys.argv.pop(1)
RECORDING = sys.argv.pop(1)
PLAN = ("simulate", "--model", "gpt2", "--batch", "1", "--seq", "64")
WRONG_USAGE, BAD_INPUT = 2, 3


class DefaultsFile(unittest.TestCase):
    def setUp(self):
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        self.home = Path(home.name)
        self.file = self.home / ".config" / "highwater" / "config.toml"
        self.file.parent.mkdir(parents=True)

    def ask(self, *words, **environment):
        kept = {name: value for name, value in os.environ.items() if name not in ("XDG_CONFIG_HOME", "HIGHWATER_CONFIG")}
        return subprocess.run([HIGHWATER, *words], capture_output=True, text=True, check=False,
                              env={**kept, "HOME": str(self.home), **environment})

    def answer(self, *words, **environment):
        """The JSON of a command that succeeds."""
        done = self.ask(*words, "--format", "json", **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def gpu(self, *words, **environment):
        return self.answer(*PLAN, *words, **environment)["plan"].get("gpu")

    def refused(self, *words, code=BAD_INPUT):
        done = self.ask(*words)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        return done.stderr

    def test_a_default_counts_and_the_report_says_where_it_is_from(self):
        self.file.write_text('gpu = "h100-80"\n')
        self.assertEqual(self.gpu(), "h100-80")
        text = self.ask(*PLAN).stdout
        self.assertIn("h100-80", text.splitlines()[0])
        self.assertIn(f"{self.file} gives --gpu h100-80", text)
        self.assertIn(f"{self.file} gives --gpu h100-80", " ".join(self.answer(*PLAN)["notes"]))

    def test_the_command_line_and_sources_win(self):
        self.file.write_text('gpu = "h100-80"\nbatch = 7\ncapacity = "1MiB"\n')
        answer = self.answer(*PLAN, "--gpu", "a100-80")
        self.assertEqual((answer["plan"]["gpu"], answer["plan"]["batch"]), ("a100-80", 1))
        self.assertTrue(answer["fits"], "the file's capacity went beside the command line's GPU")
        self.assertNotIn("gives", " ".join(answer["notes"]))
        line = "torchrun train.py --framework trainer --model_name_or_path gpt2 --per_device_train_batch_size 3 --block_size 64"
        self.assertEqual(self.answer("simulate", "--from", line, "--framework", "trainer")["plan"]["batch"], 3)

    def test_a_commands_own_words_come_before_those_for_all(self):
        self.file.write_text('gpu = "h100-80"\n[simulate]\ngpu = "a100-80"\n[plan]\nbatch = 3\n')
        answer = self.answer(*PLAN)
        self.assertEqual((answer["plan"]["gpu"], answer["plan"]["batch"]), ("a100-80", 1))

    def test_a_recording_stays_what_it_was(self):
        before = self.answer("replay", RECORDING)
        self.file.write_text('gpu = "v100-16"\ncapacity = "1MiB"\nbatch = 3\nalloc-conf = "expandable_segments:True"\n')
        self.assertEqual(self.answer("replay", RECORDING), before)

    def test_words_of_memory_below_its_own_name_are_for_files(self):
        self.file.write_text('[replay]\nalloc-conf = "expandable_segments:True"\n')
        done = self.ask("replay", RECORDING)
        self.assertEqual(done.stdout, self.ask("replay", RECORDING, "--alloc-conf", "expandable_segments:True", "--no-config").stdout)
        self.assertIn(f"{self.file} gives --alloc-conf expandable_segments:True", done.stderr)

    def test_wrong_words_are_refused_with_their_line(self):
        for text, line, problem in (
                ('gpu = "h100-80"\ngpuu = 3\n', 2, "gpuu: no command has such an option (did you mean gpu?)"),
                ("[plann]\ngpus = 8\n", 2, "[plann]: unknown command (did you mean plan?)"),
                ("[replay]\n\ngpus = 8\n", 3, "gpus: highwater replay has no such option"),
                ('model = "gpt2"\n', 1, "model: is of one run, and no default"),
                ('[report]\noutput = "x.html"\n', 2, "output: is of one run, and no default"),
                ("[replay]\nfail-on-oom = 3\n", 2, "fail-on-oom: takes no value")):
            with self.subTest(text):
                self.file.write_text(text)
                message = self.refused(*PLAN)
                self.assertIn(f"{self.file}: line {line}: {problem}", message)
                self.assertIn("--no-config leaves the file out", message)
        self.file.write_text("gpu = \n")
        self.assertIn(f"{self.file}: line 1, column", self.refused(*PLAN))

    def test_a_wrong_value_names_its_line(self):
        self.file.write_text('\ngpu = "h1000"\n')
        self.assertIn(f"(--gpu h1000 is from {self.file}, line 2)", self.refused(*PLAN, code=WRONG_USAGE))

    def test_other_places_and_none(self):
        self.file.write_text('gpu = "h100-80"\n')
        other = self.home / "other.toml"
        other.write_text('gpu = "rtx4090"\n')
        below = self.home / "xdg" / "highwater" / "config.toml"
        below.parent.mkdir(parents=True)
        below.write_text('gpu = "v100-16"\n')
        self.assertEqual(self.gpu(HIGHWATER_CONFIG=str(other)), "rtx4090")
        self.assertEqual(self.gpu(XDG_CONFIG_HOME=str(self.home / "xdg")), "v100-16")
        plain = self.gpu(HIGHWATER_CONFIG="")
        self.assertEqual(plain, "a100-80")  # which a plan has that names none
        self.assertEqual(self.gpu("--no-config"), plain)
        missing = self.ask(*PLAN, HIGHWATER_CONFIG=str(self.home / "missing"))
        self.assertEqual(missing.returncode, BAD_INPUT)
        self.assertIn("no such file, though HIGHWATER_CONFIG names it", missing.stderr)

    def test_a_broken_file_keeps_nobody_from_the_help(self):
        self.file.write_text("gpu = \n")
        self.assertEqual(self.ask("--help").returncode, 0)
        self.assertEqual(self.ask("simulate", "--help").returncode, 0)

    def test_parts_of_a_run_take_none(self):
        self.file.write_text('gpu = "h100-80"\n')
        part = self.home / "part"
        words = ("sweep", *PLAN[1:], "--set", "capacity=8GiB,16GiB")
        self.assertEqual(self.ask(*words, "--shard", "1/1", "--output", str(part)).returncode, 0)
        merged = self.ask("merge", str(part))
        self.assertEqual(merged.returncode, 0, merged.stderr)
        self.assertEqual(merged.stdout, self.ask(*words, "--no-config").stdout)

    def test_the_word_of_another_program_stays_its_own(self):
        done = self.ask("record", "--", sys.executable, "-c", "import sys; print(sys.argv[1:])", "--no-config")
        self.assertIn("['--no-config']", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
