"""`measure scripts`: a folder of training scripts, each recorded, simulated from its recording, and as it is typed first.

A script says in lines of their own what one types first, without the GPU, and what it is for, by which a second table counts:

    # typed: --model '{"model_type": "vit"}' --batch 16 --precision amp-bf16
    # typed: --model {script}:make --batch 16        (a function of the script itself)
    # task: image classification

It needs nothing from a network: models from configurations, data made in place. Results are kept beside it in
FOLDER/results, where a script that did not change but in these lines is not recorded again.
"""

import hashlib
import json
import sys
import time
from pathlib import Path

from ..case_fields import CaseError
from ..case_run import write_atomically
from ..draw.command import found_program
from ..draw.programs import TooLongError
from ..draw.results import LONGEST, Runner, last_words, peaks_of, recorded_peak
from ..draw.table import as_markdown, as_text
from . import verdicts
from .verdicts import typed_words


def add_options(parser):
    parser.add_argument("folder", metavar="FOLDER", help="with the scripts, *.py")
    parser.add_argument("--only", metavar="NAME,...", help="only these, without .py")
    parser.add_argument("--gpu", default="h100-80", help="that they are recorded for (default: %(default)s)")
    parser.add_argument("--steps", type=int, metavar="N", help="optimizer steps (default: to the script's end)")
    parser.add_argument("--highwater", default="highwater", metavar="FILE", help="the program (default: on the PATH)")
    parser.add_argument("--python", default=sys.executable, metavar="FILE",
                        help="the Python whose PyTorch is recorded (default: this one)")
    parser.add_argument("--again", action="store_true", help="simulate anew what was simulated before")
    parser.add_argument("--timeout", type=int, default=LONGEST, metavar="S",
                        help="seconds for one recording and for one answer (default: %(default)s)")
    parser.add_argument("--minutes", type=float, metavar="M", help="start no script after M minutes")
    parser.add_argument("--format", choices=("text", "markdown"), default="text")


class ScriptRunner:
    def __init__(self, options):
        self.options = options
        self.runner = Runner(found_program(options.highwater), options.python)

    def result_of(self, script):
        """The kept result, or a new one."""
        folder = script.parent / "results" / script.stem
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "result.json"
        digest = hashlib.sha256(verdicts.program_of(script).encode()).hexdigest()
        kept = json.loads(path.read_text()) if path.exists() else {}
        result = kept if kept.get("script") == digest and "recorded" in kept else self.recorded(script, folder, digest)
        if "recorded" in result:
            result = {**result, **self.simulated(script, folder, result)}
        write_atomically(path, lambda partial: partial.write_text(json.dumps(result) + "\n"))
        return {"name": script.stem, "task": verdicts.task_of(script), **result}

    def recorded(self, script, folder, digest):
        steps = ["--steps", str(self.options.steps)] if self.options.steps else []
        words = ["record", "--format", "json", "--gpu", self.options.gpu, *steps, "--output", "run.pickle",
                 "--", self.options.python, str(script.resolve())]
        try:
            done = self.runner.run(words, folder, self.options.timeout)
        except TooLongError:
            return {"script": digest, "error": f"not recorded within {self.options.timeout} s"}
        (folder / "record.log").write_text(done.messages)
        if done.code != 0:
            return {"script": digest, "error": f"record: {last_words(done)}"}
        return {"script": digest, "recorded": peaks_of(recorded_peak(json.loads(done.text)))}

    def simulated(self, script, folder, kept):
        """What is asked for the first time, or in other words."""
        lines = {"from": ["--from", "run.pickle"], "typed": ["--gpu", self.options.gpu, *self.runner.workspaces, *typed_words(script)]}
        asked = {name: line for name, line in lines.items()
                 if self.options.again or verdicts.is_open(kept.get(name)) or kept.get("lines", {}).get(name) != line}
        return {**{name: self.answer([*line, "--python", self.options.python], folder) for name, line in asked.items()}, "lines": lines}

    def answer(self, words, folder):
        try:
            done = self.runner.run(["simulate", "--format", "json", *words], folder, self.options.timeout)
        except TooLongError:
            return {"late": f"no answer within {self.options.timeout} s"}
        return verdicts.answer_of(json.loads(done.text)) if done.code == 0 else {"refused": last_words(done)}


def chosen_scripts(options):
    """@raises CaseError"""
    scripts = sorted(Path(options.folder).glob("*.py"))
    wanted = options.only.split(",") if options.only else [script.stem for script in scripts]
    missing = sorted(set(wanted) - {script.stem for script in scripts})
    if missing or not scripts:
        raise CaseError(f"{options.folder}: has no script {', '.join(missing) or '*.py'}")
    for script in scripts:
        typed_words(script)
    return [script for script in scripts if script.stem in wanted]


def run(options):
    """@raises CaseError"""
    runner = ScriptRunner(options)
    ends = time.monotonic() + 60 * options.minutes if options.minutes else None
    results = []
    for script in chosen_scripts(options):
        if ends is not None and time.monotonic() > ends:
            print("not all scripts; the same command goes on", file=sys.stderr)
            break
        began = time.monotonic()
        results.append(runner.result_of(script))
        print(f"{time.monotonic() - began:6.1f} s  {script.stem}", file=sys.stderr, flush=True)
    form = as_markdown if options.format == "markdown" else as_text
    tables = verdicts.summary_rows(results), verdicts.task_rows(results), verdicts.script_rows(results)
    print("\n\n".join(map(form, tables)))
    return 0
