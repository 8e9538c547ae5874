"""Draws cases, asks both readers, keeps each result, prints the tables.

    second_answers --checkouts FOLDER --highwater FILE --libraries FOLDER --seed S --count 600
        --python trl=VENV/bin/python --python megatron=VENV/bin/python@CHECKOUT ...

Published files come with others made of them, about as many as there are of the first. --count counts those that the
program itself takes. The own answers are kept in --out, a line of JSON for each case: a
second call goes on there, and asks only --from again. --programs chooses some. FOLDER is described in published.py;
--libraries is build/PRESET/fakecuda/cudaNN, since some parsers ask for the GPU.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path

from .highwater import answer
from .mutated import mutated_case
from .own_answers import OwnParser
from .published import FORMS, published_cases
from .tables import report

RANKS = 8  # GPUs of a case


def read_options(words):
    parser = argparse.ArgumentParser(prog="second_answers", description=__doc__.split("\n\n")[0])
    parser.add_argument("--checkouts", type=Path, required=True)
    parser.add_argument("--highwater", type=Path, required=True)
    parser.add_argument("--libraries", type=Path, required=True)
    parser.add_argument("--seed", required=True)
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--programs", default=",".join(FORMS), metavar="P,...")
    parser.add_argument("--python", action="append", default=[], metavar="PROGRAM=FILE[@FOLDER]")
    parser.add_argument("--out", type=Path, default=Path("second_answers.jsonl"))
    parser.add_argument("--minutes", type=float, help="ask no more after so many minutes")
    parser.add_argument("--format", choices=("text", "markdown"), default="text")
    return parser.parse_args(words)


def drawn_cases(seed, program, published):
    """Published cases of a program in an order that follows from the seed, and after each two made of it; without an end.

    Whoever draws sends back whether the program took the case: only of such are more made.
    """
    rng = random.Random(f"{seed}/{program}")
    pool = [case for case in published if case["program"] == program]
    rng.shuffle(pool)
    taken = []
    for case in pool:
        if (yield {**case, "kind": "published"}):
            taken.append(case)
            yield {**mutated_case(rng, case), "kind": "mutated"}
    while taken:
        yield {**mutated_case(rng, rng.choice(taken)), "kind": "mutated"}


def parsers_of(options):
    found = {}
    for word in options.python:
        program, _, rest = word.partition("=")
        python, _, folder = rest.partition("@")
        found[program] = OwnParser(program, python, options.libraries.resolve(), [folder] if folder else [])
    return found


def kept_answers(path):
    if not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {row["case"]: row["own"] for row in rows if "failed" not in row["own"]}


def key_of(case):
    return json.dumps([case["program"], case["argv"], case["files"], case.get("gpus")], sort_keys=True)


def own_answer(case, parsers, kept, out):
    key = key_of(case)
    if key not in kept:
        kept[key] = parsers[case["program"]].answer({**case, "ranks": case.get("gpus") or RANKS})
        with out.open("a") as file:
            print(json.dumps({"case": key, "own": kept[key]}), file=file)
    return kept[key]


def is_launched(case):
    """Whether the source says how many GPUs there are, or the program does not ask."""
    return case.get("gpus") or case["program"] in ("trl", "trainer", "accelerate")


def both_answers(case, parsers, kept, options):
    own = own_answer(case, parsers, kept, options.out)
    ranks = None if is_launched(case) else own.get("meaning", {}).get("ranks", RANKS)
    with tempfile.TemporaryDirectory() as folder:
        mine = answer(options.highwater.resolve(), case, folder, ranks)
    return {"program": case["program"], "origin": case["origin"], "kind": case["kind"], "own": own, "mine": mine}


def results_of(program, published, wanted, ask):
    """As many results as are wanted of files that the program itself takes, and those of the others that were met."""
    cases, took, results = drawn_cases(ask.options.seed, program, published), None, []
    while wanted > 0 and not ask.is_late():
        try:
            case = cases.send(took)
        except StopIteration:
            break
        results.append(ask.both(case))
        took = "meaning" in results[-1]["own"]
        wanted -= took
    return results


class Asking:
    """Both readers, and the own answers that are kept."""

    def __init__(self, options):
        self.options, self.parsers, self.kept = options, parsers_of(options), kept_answers(options.out)
        self._ends = time.monotonic() + 60 * options.minutes if options.minutes else None

    def is_late(self):
        return self._ends is not None and time.monotonic() > self._ends

    def both(self, case):
        return both_answers(case, self.parsers, self.kept, self.options)

    def stop(self, program):
        self.parsers[program].stop()


def main(words):
    options = read_options(words)
    ask = Asking(options)
    programs = [program for program in options.programs.split(",") if program in ask.parsers]
    published, results = published_cases(options.checkouts), []
    for program in programs:
        results += results_of(program, published, options.count // len(programs), ask)
        ask.stop(program)
    if ask.is_late():
        print("not all cases; the same command goes on", file=sys.stderr)
    print(report(results, options.format))
    return 0
