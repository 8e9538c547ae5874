"""`measure draw` as far as it goes without torch: cases from a seed, their scripts and lines, results kept, the table."""
import ast
import json
import os
import pathlib
import stat
import sys
import tempfile
import types
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools" / "python"))

from measure.case_fields import CaseError  # noqa: E402
from measure.draw import drawn, plan_rows, results, table  # noqa: E402
from measure.draw.loops import LOOPS, Plans  # noqa: E402
from measure.user_scripts import command, verdicts  # noqa: E402

PROGRAM = """#!/bin/sh
echo "$*" >> "{log}"
case "$1" in
  record) echo '{{"devices": [{{"peak": {{"allocated_bytes": 100, "reserved_bytes": 200}}}}]}}' ;;
  simulate) case "$*" in *refused*) echo "refused" >&2; exit 2 ;; esac
    echo '{{"peak": {{"allocated_bytes": 101, "reserved_bytes": 200}}}}' ;;
esac
"""

SLOW_PROGRAM = PROGRAM.replace("101", "100").replace("*refused*)", "*--model*) sleep 30 ;; *refused*)")


SCRIPTS = tuple(name for name, row in LOOPS.items() if not isinstance(row, Plans))
PLANS = tuple(name for name, row in LOOPS.items() if isinstance(row, Plans))


class Cases(unittest.TestCase):
    def test_a_seed_draws_the_same_cases_however_many(self):
        self.assertEqual(drawn.drawn_cases("a", 5), drawn.drawn_cases("a", 9)[:5])
        self.assertNotEqual(drawn.drawn_cases("a", 5), drawn.drawn_cases("b", 5))

    def test_every_loop_is_drawn_and_writes_python(self):
        cases = drawn.drawn_cases("scripts", 400)
        self.assertEqual({case["loop"] for case in cases}, set(LOOPS))
        for case in cases:
            for text in results.files_of(case).values():
                self.assertTrue(text)
            if not isinstance(LOOPS[case["loop"]], Plans):
                ast.parse(LOOPS[case["loop"]].script(case))

    def test_a_micro_batch_is_small(self):
        for case in drawn.drawn_cases("sizes", 100):
            self.assertLessEqual(case["batch"] * case["seq"], drawn.MOST_TOKENS)
            self.assertTrue(drawn.is_recordable(case))

    def test_words_of_a_plan_fit_each_other(self):
        words = ["--lora", "8", "--param-groups", "2", "--dora", "--dp", "2", "--checkpoint-impl", "reentrant"]
        self.assertEqual(plan_rows.fitting(words, "llama"), ["--lora", "8", "--dp", "2"])
        self.assertEqual(plan_rows.fitting(["--lora", "8", "--checkpoint", "full"], "olmo"),
                         ["--lora", "8", "--checkpoint", "full", "--lora-targets", "all-linear"])

    def test_what_is_typed_names_the_loop_and_the_strategy(self):
        case = {**drawn.drawn_case("typed", 1, ("trainer",)), "weights": "fp32", "autocast": "bf16", "sharding": "ddp",
                "ranks": 4, "lora": 8, "checkpoint": True, "accumulate": 2, "optimizer": "adamw"}
        self.assertEqual(LOOPS["trainer"].typed(case), ["--framework", "trainer", "--bf16", "--dp", "4", "--lora", "8",
                                                        "--checkpoint", "full", "--grad-accum", "2"])


class Results(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.log = self.folder / "log"
        program = self.folder / "highwater"
        program.write_text(PROGRAM.format(log=self.log))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        self.runner = results.Runner(program, sys.executable)
        self.case = drawn.drawn_case("results", 1, SCRIPTS)

    def test_a_case_is_recorded_once_and_simulated_every_time(self):
        for _ in range(2):
            result = results.result_of(self.case, self.folder / "out", self.runner)
        self.assertEqual(result["recorded"], {"allocated": 100, "reserved": 200})
        self.assertEqual(result["simulated"], {"allocated": 101, "reserved": 200})
        commands = [line.split()[0] for line in self.log.read_text().splitlines()]
        self.assertEqual(commands, ["record", "simulate", "simulate"])

    def test_a_plan_is_run_by_both_engines(self):
        result = results.result_of(drawn.drawn_case("plans", 1, PLANS), self.folder / "out", self.runner)
        self.assertEqual(result["recorded"], {"allocated": 101, "reserved": 200})
        engines = [line.split("--engine ")[1].split()[0] for line in self.log.read_text().splitlines()]
        self.assertEqual(engines, ["torch", "model"])
        self.assertIn("--cudnn-workspaces none", self.log.read_text().splitlines()[1])  # this Python has no cuDNN

    def test_a_plan_that_the_engine_refuses_is_not_run_again(self):
        case = {**drawn.drawn_case("plans", 1, PLANS), "words": ["--refused"]}
        for _ in range(2):
            result = results.result_of(case, self.folder / "out", self.runner)
        self.assertEqual(result["refused"], "torch: refused")
        self.assertEqual(len(self.log.read_text().splitlines()), 1)

    def test_the_folder_of_a_case_repeats_it_by_hand(self):
        results.result_of(self.case, self.folder / "out", self.runner)
        folder = self.folder / "out" / self.case["id"]
        self.assertEqual(json.loads((folder / "config.json").read_text())["model_type"], self.case["family"])
        self.assertTrue((folder / "train.py").exists())
        self.assertEqual(len((folder / "lines.txt").read_text().splitlines()), 2)


NATIVE = """
import json, os, time
from highwater import _errors

def call(words):
    if "--slow" in words:
        time.sleep(30)
    if "--refused" in words:
        raise _errors.InputError("refused")
    assert os.path.exists(words[words.index("--model") + 1])
    return json.dumps({"peak": {"allocated_bytes": 100 + (words[words.index("--engine") + 1] == "torch"), "reserved_bytes": 200}}), []
"""
ERRORS = """
class UsageError(Exception): pass
class InputError(Exception): pass
"""


class InOneProcess(unittest.TestCase):
    """Plans go to the module, by their folder's config.json."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        package = self.folder / "module" / "highwater"
        package.mkdir(parents=True)
        for name, text in {"__init__": "", "_native": NATIVE, "_errors": ERRORS}.items():
            (package / f"{name}.py").write_text(text)
        kept = sys.path[:], dict(os.environ)
        self.addCleanup(self.restore, *kept)
        self.runner = results.Runner("no-program", sys.executable, module=package.parent)
        self.case = drawn.drawn_case("module", 1, PLANS)

    @staticmethod
    def restore(path, environment):
        sys.path[:] = path
        os.environ.clear()
        os.environ.update(environment)
        for name in [name for name in sys.modules if name.partition(".")[0] == "highwater"]:
            del sys.modules[name]

    def test_a_plan_is_answered_in_its_folder(self):
        before = os.getcwd()
        result = results.result_of(self.case, self.folder / "out", self.runner)
        self.assertEqual(result["recorded"], {"allocated": 101, "reserved": 200})
        self.assertEqual(result["simulated"], {"allocated": 100, "reserved": 200})
        self.assertEqual(os.getcwd(), before)

    def test_a_refusal_is_kept(self):
        result = results.result_of({**self.case, "words": ["--refused"]}, self.folder / "out", self.runner)
        self.assertEqual(result["refused"], "torch: refused")

    def test_what_takes_too_long_is_an_error(self):
        with unittest.mock.patch.object(results, "LONGEST", 1):
            result = results.result_of({**self.case, "words": ["--slow"]}, self.folder / "out", self.runner)
        self.assertEqual(result["error"], "not recorded within 1 s")


class Table(unittest.TestCase):
    @staticmethod
    def result(number, simulated):
        case = {**drawn.drawn_case("table", number, ("hf",)), "id": f"case{number}"}
        return {"case": case, "recorded": {"allocated": 1000, "reserved": 1000},
                "simulated": {"allocated": simulated, "reserved": 1000}}

    def test_quantiles_are_values_of_cases(self):
        self.assertEqual(table.quantile([1, 2, 3, 4], 50), 2)
        self.assertEqual(table.quantile(range(1, 61), 95), 57)
        self.assertEqual(table.quantile([7], 95), 7)

    def test_the_worst_is_named(self):
        rows = table.summary_rows([self.result(1, 1000), self.result(2, 990), self.result(3, 1001)])
        self.assertEqual(rows[1], ["all", "3", "allocated", "0.100 %", "1.000 %", "-1.000 %", "case2"])

    def test_what_could_not_be_compared_is_listed(self):
        result = {"case": self.result(1, 1)["case"], "error": "record: note: the script ended"}
        self.assertIn("case1", table.report([result], "markdown"))



class UserScripts(unittest.TestCase):
    """`measure scripts`: what an answer about a script is worth."""
    RECORDED = {"allocated": 1000, "reserved": 2000}

    def kind(self, allocated, reserved, **answer):
        answer = {"peak": {"allocated": allocated, "reserved": reserved}, "told": False, "spellings": [], **answer}
        return verdicts.kind_of({"recorded": self.RECORDED, "typed": answer}, "typed")

    def test_the_worse_of_both_figures_counts(self):
        self.assertEqual(self.kind(1000, 2002), "exact")
        self.assertEqual(self.kind(1000, 2018), "near")
        self.assertEqual(self.kind(1000, 2100), "off")

    def test_what_an_answer_says_of_itself(self):
        self.assertEqual(self.kind(1100, 2000, told=True), "told")
        self.assertEqual(self.kind(1100, 2000, spellings=[{"allocated": 1000, "reserved": 2000}]), "both")
        self.assertEqual(self.kind(1100, 2000, spellings=[{"allocated": 1000, "reserved": 2100}]), "off")
        self.assertEqual(self.kind(1000, 2000, replayed=True), "replayed")

    def test_what_has_no_answer(self):
        self.assertEqual(verdicts.kind_of({"recorded": self.RECORDED, "from": {"refused": "no model"}}, "from"), "refused")
        self.assertEqual(verdicts.kind_of({"recorded": self.RECORDED, "typed": {"late": "no answer within 300 s"}}, "typed"), "late")
        self.assertEqual(verdicts.kind_of({"error": "died"}, "from"), "error")

    def test_answers_of_simulate(self):
        peak = {"allocated_bytes": 1, "reserved_bytes": 2, "active_bytes": 1, "requested_bytes": 1}
        plain = verdicts.answer_of({"peak": peak, "recording": {"is_explained": False}, "spellings": [{"peak": peak}]})
        self.assertEqual(plain, {"peak": {"allocated": 1, "reserved": 2}, "told": True, "spellings": [{"allocated": 1, "reserved": 2}]})
        self.assertTrue(verdicts.answer_of({"devices": [{"peak": peak}]})["replayed"])
        self.assertTrue(verdicts.answer_of({"peak": peak, "assumed": "the defaults of a class"})["told"])

    def test_a_script_says_what_is_typed(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder) / "train.py"
            script.write_text("import torch\n# typed: --model {script}:make --batch 8\n")
            self.assertEqual(verdicts.typed_words(script), ["--model", f"{script.resolve()}:make", "--batch", "8"])
            script.write_text("import torch\n")
            with self.assertRaisesRegex(CaseError, "has no line '# typed:"):
                verdicts.typed_words(script)

    def runner_of(self, program_text, root, timeout):
        """What asks a program of this text, the log of its calls, and a script that is to be written; all in `root`."""
        folder = pathlib.Path(root)
        program, log = folder / "highwater", folder / "log"
        program.write_text(program_text.format(log=log))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        options = types.SimpleNamespace(highwater=str(program), python="python3", gpu="h100-80", steps=None, again=False, timeout=timeout)
        return command.ScriptRunner(options), log, folder / "train.py"

    def test_what_is_only_said_about_a_script_is_not_recorded_again(self):
        with tempfile.TemporaryDirectory() as root:
            runner, log, script = self.runner_of(PROGRAM, root, timeout=60)
            for text, asked in (("# typed: --model a\n# task: sorting\npass\n", ["record", "simulate", "simulate"]), ("# typed: --model b\npass\n", ["simulate"]),
                                ("# typed: --model b\n# task: more\npass\n", []), ("# typed: --model b\npass  # other\n", ["record", "simulate", "simulate"])):
                script.write_text(text)
                log.write_text("")
                result = runner.result_of(script)
                self.assertEqual([line.split()[0] for line in log.read_text().splitlines()], asked)
            self.assertEqual(result["task"], "")

    def test_an_answer_that_took_too_long_is_no_refusal_and_is_asked_for_again(self):
        with tempfile.TemporaryDirectory() as root:
            runner, log, script = self.runner_of(SLOW_PROGRAM, root, timeout=1)
            script.write_text("# typed: --model a\n")
            result = runner.result_of(script)
            self.assertEqual([verdicts.kind_of(result, name) for name in ("from", "typed")], ["exact", "late"])
            self.assertEqual(verdicts.script_rows([result])[1][4], "no answer within 1 s")
            log.write_text("")
            self.runner_of(SLOW_PROGRAM, root, timeout=1)[0].result_of(script)
            self.assertEqual(len(log.read_text().splitlines()), 1)

    def test_tasks_are_counted(self):
        right, off = {"peak": self.RECORDED}, {"peak": {"allocated": 1, "reserved": 1}, "told": False, "spellings": []}
        results = [{"task": "sorting", "recorded": self.RECORDED, "from": right, "typed": off},
                   {"task": "sorting", "recorded": self.RECORDED, "from": right, "typed": right}, {"task": "", "error": "died"}]
        self.assertEqual(verdicts.task_rows(results)[1:], [["(none said)", "0", "0", "0"], ["sorting", "2", "2", "1"]])


if __name__ == "__main__":
    unittest.main()
