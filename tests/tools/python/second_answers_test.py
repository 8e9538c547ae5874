"""Second answers as far as they go without other programs: cases from a seed, what bash starts, differences, the tables."""
import pathlib
import random
import sys
import tempfile
import unittest

try:
    import yaml
except ImportError:
    yaml = None

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools" / "python" / "checks"))

from second_answers import comparison, shell, tables  # noqa: E402

SCRIPT = """#!/bin/bash
BATCH=${BATCH:-4}
GPUS=$((2 * 4))
mkdir -p out && cd out
torchrun --nproc_per_node $GPUS --nnodes=2 train.py \\
    --per_device_train_batch_size $BATCH --output_dir "my out"
"""


class Shell(unittest.TestCase):
    def test_bash_says_which_words_are_started(self):
        self.assertEqual(shell.started_words(SCRIPT), [
            ["torchrun", "--nproc_per_node", "8", "--nnodes=2", "train.py", "--per_device_train_batch_size", "4",
             "--output_dir", "my out"]])

    def test_nothing_else_is_started_and_nothing_written(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(shell.started_words(f"touch {folder}/a\necho text > {folder}/b\n/bin/touch {folder}/c\n"), [])
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])

    def test_gpus_of_all_nodes(self):
        self.assertEqual(shell.ranks_of(shell.started_words(SCRIPT)[0]), 16)
        self.assertIsNone(shell.ranks_of(["python", "train.py"]))


@unittest.skipIf(yaml is None, "needs PyYAML")
class Cases(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.write("axolotl-ai-cloud/axolotl/examples/a/lora.yml", "base_model: m\nmicro_batch_size: 2\nadapter: lora\n")
        self.write("axolotl-ai-cloud/axolotl/examples/a/data.yml", "path: text\n")
        self.write("lm-sys/FastChat/scripts/train.sh", SCRIPT)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def cases(self):
        from second_answers.published import published_cases
        return published_cases(self.folder)

    def test_files_and_scripts_become_cases(self):
        cases = {case["origin"]: case for case in self.cases()}
        self.assertEqual(set(cases), {"axolotl-ai-cloud/axolotl/examples/a/lora.yml", "lm-sys/FastChat/scripts/train.sh"})
        script = cases["lm-sys/FastChat/scripts/train.sh"]
        self.assertEqual(script["gpus"], 16)
        self.assertEqual(script["argv"][:2], ["--per_device_train_batch_size", "4"])

    def drawn(self, took, count):
        from second_answers.command import drawn_cases
        cases = drawn_cases("a", "axolotl", self.cases())
        return [next(cases)] + [cases.send(took) for _ in range(count - 1)]

    def test_a_seed_draws_the_same_cases_published_ones_first(self):
        drawn = self.drawn(True, 6)
        self.assertEqual(drawn, self.drawn(True, 6))
        self.assertEqual([case["kind"] for case in drawn], ["published"] + ["mutated"] * 5)

    def test_nothing_is_made_of_what_the_program_does_not_take(self):
        from second_answers.command import drawn_cases
        cases = drawn_cases("a", "axolotl", self.cases())
        next(cases)
        with self.assertRaises(StopIteration):
            cases.send(False)

    def test_a_change_is_one_of_the_keys(self):
        from second_answers.mutated import KEYS, mutated_case
        case = next(case for case in self.cases() if case["program"] == "axolotl")
        for seed in range(20):
            changed = mutated_case(random.Random(seed), case)
            self.assertTrue(changed["changes"])
            for change in changed["changes"]:
                self.assertIn(change.lstrip("-").split("=")[0], KEYS["axolotl"])
            self.assertIsInstance(yaml.safe_load(changed["files"]["axolotl.yaml"]), dict)


class Comparison(unittest.TestCase):
    OWN = {"meaning": {"batch": 4, "clip": 1.0, "optimizer": "sgd", "fused": False}}

    def compared(self, lacks=(), **more):
        mine = {"meaning": {"batch": 4, "clip": 1.0, "optimizer": "sgd", "fused": True, **more}, "lacks": dict.fromkeys(lacks, "")}
        return comparison.compared(self.OWN, mine)

    def test_a_field_is_alike_said_or_shown(self):
        self.assertEqual(self.compared()["batch"], "alike")
        self.assertEqual(self.compared(batch=2)["batch"], "2 / 4")
        self.assertEqual(self.compared(["optim"], optimizer="adamw")["optimizer"], "said")

    def test_only_adams_have_a_fused_kernel(self):
        self.assertEqual(self.compared()["fused"], "alike")

    def test_the_tables_count_cases_and_fields(self):
        result = {"program": "trl", "origin": "a.yaml", "kind": "published", "own": self.OWN,
                  "mine": {"meaning": {"batch": 2, "clip": 1.0, "optimizer": "sgd"}, "lacks": {}}}
        refused = {**result, "mine": {"refused": "a.yaml: no"}}
        self.assertEqual(tables.program_rows([result, refused])[1],
                         ["trl", "2", "1", "0.0 %", "3", "66.7 %", "0", "1", "0", "0", "1"])
        self.assertIn("2 / 4", tables.report([result, refused], "markdown"))


if __name__ == "__main__":
    unittest.main()
