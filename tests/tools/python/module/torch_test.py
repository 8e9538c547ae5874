"""With a real PyTorch on the fake GPU: torch_test.py PACKAGE_FOLDER HIGHWATER

HIGHWATER_TORCH_PYTHON names its Python; without one, or without what a case needs, it is skipped.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE, HIGHWATER = (pathlib.Path(each).resolve() for each in sys.argv[1:3])
PYTHON = os.environ.get("HIGHWATER_TORCH_PYTHON")
SKIPPED = 4


def record(script, *arguments, gpu="4GiB"):
    """Runs a script under `highwater record`; (exit code, stdout, stderr)."""
    with tempfile.TemporaryDirectory() as folder:
        command = [HIGHWATER, "record", "--gpu", gpu, "--output", f"{folder}/record.pickle", "--", PYTHON,
                   HERE / "scripts" / script, *arguments]
        run = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
                             env={**os.environ, "PYTHONPATH": str(PACKAGE), "HF_HUB_OFFLINE": "1"})
    return run.returncode, run.stdout, run.stderr


def has(*modules):
    code = f"import importlib.util as u; assert all(u.find_spec(m) for m in {modules!r})"
    return subprocess.run([PYTHON, "-c", code], stderr=subprocess.DEVNULL).returncode == 0


def as_meant(answer):
    """Python 3.11 formats the enum that DeepSpeed prints by its name, earlier ones by its value."""
    return answer.replace("OffloadDeviceEnum.cpu", "cpu ") if isinstance(answer, str) else answer


class Watch(unittest.TestCase):
    def check(self, script):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/oom.pickle"
            _, _, said = record(script, path)
            self.assertTrue(os.path.exists(path), said)
            verdict = subprocess.run([HIGHWATER, "explain", path], text=True, stdout=subprocess.PIPE, check=True).stdout
        self.assertIn("OUT OF MEMORY", verdict)
        self.assertIn(verdict, said)
        self.assertIn("OutOfMemoryError", said.split(verdict)[1])  # the exception goes on

    def test_a_block(self):
        self.check("plain.py")

    def test_trainer(self):
        if not has("transformers", "accelerate"):
            self.skipTest("transformers or accelerate is not installed")
        self.check("trainer.py")

    def test_lightning(self):
        if not has("lightning"):
            self.skipTest("lightning is not installed")
        self.check("lightning_fit.py")


class Models(unittest.TestCase):
    def test_modules_and_functions_are_trained_as_their_files_would_be(self):
        if not has("transformers"):
            self.skipTest("transformers is not installed")
        _, answer, said = record("models.py", gpu="h100-80")
        line = next((line for line in answer.splitlines() if line.startswith("{")), "")
        self.assertTrue(line, said)
        found = json.loads(line)
        self.assertEqual(found["module of transformers"], found["its config.json"])
        self.assertEqual(found["module"], found["function"])
        self.assertIn("torch.nn.Module", found["number"])
        self.assertIn("cloudpickle", found["lambda"])


class Estimators(unittest.TestCase):
    def test_deepspeed_itself_says_the_same(self):
        if not has("deepspeed", "transformers"):
            self.skipTest("deepspeed is not installed")
        _, answer, said = record("estimators.py")
        line = next((line for line in answer.splitlines() if line.startswith("[[")), "")
        self.assertTrue(line, said)
        cases = json.loads(line)
        self.assertEqual(len(cases), 3 * 5 * 12)
        for theirs, ours in cases:
            self.assertEqual(as_meant(theirs), ours)


if __name__ == "__main__":
    if not PYTHON:
        print("skipped: HIGHWATER_TORCH_PYTHON names no Python with torch")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
