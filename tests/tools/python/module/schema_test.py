"""Real output of every command against `highwater schema`: schema_test.py HIGHWATER SHARED_DATA"""
import json
import pathlib
import shlex
import subprocess
import sys
import unittest

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(4)

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[3]
HIGHWATER, SHARED = (pathlib.Path(each).resolve() for each in sys.argv[1:3])


def output(*words):
    run = subprocess.run([HIGHWATER, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
    if run.returncode not in (0, 1) and not run.stdout:  # a scan tells what it could not read in its rows
        raise AssertionError(f"{words}: {run.stderr}")
    return run.stdout


def lines():
    for line in (HERE / "lines.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield shlex.split(line)
    for snapshot in sorted((SHARED / "snapshots").glob("*.pickle.xz")):
        for command in ("replay", "info", "explain"):
            yield [command, str(snapshot)]


def schema_of(command, answer):
    """That of the command, except for a kind of question that has a schema of its own: `simulate --from RUN.hwp`."""
    name = answer["schema"].removeprefix("highwater.").partition("/")[0]
    return json.loads(output("schema", name if name in output("schema").split() else command))


class Schemas(unittest.TestCase):
    def test_real_output_of_every_schema(self):
        checks = {}
        for words in lines():
            with self.subTest(line=" ".join(words)):
                answer = json.loads(output(*words, "--format", "json"))
                schema = schema_of(words[0], answer)
                jsonschema.Draft202012Validator.check_schema(schema)
                check = checks.setdefault(schema["$id"], jsonschema.Draft202012Validator(schema))
                self.assertEqual([error.message for error in check.iter_errors(answer)], [])
                self.assertIn(schema["$id"], schema["properties"]["schema"]["enum"])
        tried = {name.removeprefix("highwater.").partition("/")[0] for name in checks}
        self.assertEqual(set(output("schema").split()), tried)

    def test_a_wrong_answer_is_noticed(self):
        schema = jsonschema.Draft202012Validator(json.loads(output("schema", "replay")))
        self.assertTrue(list(schema.iter_errors({"schema": "highwater.replay/1", "devices": [{"device": "0"}]})))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
