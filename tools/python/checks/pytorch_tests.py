#!/usr/bin/env python3
"""Runs tests of PyTorch's own suite on the fake device, and asks whether the recordings that they leave replay.

  pytorch_tests.py record FOLDER --suite pytorch/test/test_cuda.py --python PYTHON --highwater build/dev/highwater
                   [--only REGEX] [--jobs N]
  pytorch_tests.py judge FOLDER --highwater build/dev/highwater

The suite is PyTorch's source of the release that PYTHON has (test/test_cuda.py with the packages that it imports:
numpy, expecttest, hypothesis, psutil); it is not part of this repository. `record` runs each test in a process of its
own under `highwater record`, writes FOLDER/TEST.pickle and TEST.json (how the test ended), and lists what failed. A test
that asks for values fails on a device that computes none; what it asked of the allocator is recorded all the same.
`judge` replays each recording as it was, and prints which are not reproduced.
"""

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import random_programs

# What tests of the allocator, its pools, graphs and pinned memory are called in test/test_cuda.py of 2.6 to 2.15.
OF_THE_ALLOCATOR = (r"alloc|memory|mem_|mempool|pool|graph|record_stream|snapshot|expandable|split|roundup|gc|garbage|oom|"
                    r"out_of_memory|caching|pin|cache|checkpoint|absorption|resurrect|segment|stats|fraction|history|trace")
LISTED = """
import sys, unittest
def names(suite):
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from names(each)
        else:
            yield each.id().partition(".")[2]
sys.path.insert(0, sys.argv[1])
print(*names(unittest.defaultTestLoader.loadTestsFromName(sys.argv[2])), sep="\\n")
"""
ENDS = re.compile(r"^(OK|FAILED)\b.*$", re.MULTILINE)


def tests_of(options):
    """["TestCuda.test_caching_pinned_memory", ...] that PYTHON finds in the suite and `--only` matches."""
    suite = Path(options.suite).resolve()
    listed = recorded_run(options, Path(options.folder) / "list.pickle",
                          ["-c", LISTED, str(suite.parent), suite.stem])
    names = [line for line in listed.stdout.splitlines() if re.fullmatch(r"\w+\.test_\w+", line)]
    if not names:
        sys.exit(f"{suite}: no tests found\n{listed.stderr[-2000:]}")
    return [name for name in names if re.search(options.only, name.partition(".")[2])]


def recorded_run(options, output, arguments):
    command = [options.highwater, "record", "--gpu", "h100-80", "--output", str(output), "--", options.python, *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=options.patience)
    except subprocess.TimeoutExpired as expired:
        return subprocess.CompletedProcess(command, 124, "", f"took more than {options.patience} s: {expired}")


def end_of(run):
    """"passed", "skipped", "failed: ..." in the words of unittest."""
    text = run.stdout + run.stderr
    last = ([match.group(0) for match in ENDS.finditer(text)] or [f"exit code {run.returncode}"])[-1]
    if last.startswith("OK"):
        return "skipped" if "skipped" in last else "passed"
    errors = re.findall(r"^(?:\w+\.)*\w*(?:Error|Exception|Failure)\b.*$", text, re.MULTILINE)
    return f"failed: {(errors or [last])[-1][:160]}"


def record_one(options, test):
    output = Path(options.folder) / f"{test}.pickle"
    end = end_of(recorded_run(options, output, [str(Path(options.suite).resolve()), test, "-v"]))
    output.with_suffix(".json").write_text(json.dumps({"test": test, "end": end}))
    return test, end, output.exists()


def record(options):
    Path(options.folder).mkdir(parents=True, exist_ok=True)
    tests = tests_of(options)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda test: record_one(options, test), tests))
    for test, end, _ in results:
        if end.startswith("failed"):
            print(f"{test}: {end}")
    count = lambda word: sum(end.startswith(word) for _, end, _ in results)  # noqa: E731
    print(f"{len(results)} tests: {count('passed')} passed, {count('failed')} failed, {count('skipped')} skipped; "
          f"{sum(is_there for _, _, is_there in results)} recordings")
    return 0


def judge(options):
    different = {}
    files = sorted(file for file in Path(options.folder).glob("*.pickle") if file.stem != "list")
    for file in files:
        lacks = random_programs.difference(random_programs.replayed(options, str(file)))
        if lacks:
            different[file.stem] = lacks
    for test, lacks in different.items():
        print(f"{test}: {lacks}")
    print(f"{len(files) - len(different)} of {len(files)} recordings replay whole")
    return 1 if different else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    recorder = commands.add_parser("record")
    recorder.add_argument("folder")
    recorder.add_argument("--suite", required=True, help="test/test_cuda.py of PyTorch's source")
    recorder.add_argument("--python", required=True, help="an interpreter with that release of PyTorch")
    recorder.add_argument("--highwater", required=True)
    recorder.add_argument("--only", default=OF_THE_ALLOCATOR, help="a regular expression for names of tests")
    recorder.add_argument("--jobs", type=int, default=os.cpu_count())
    recorder.add_argument("--patience", type=float, default=300, help="seconds for a test")
    judging = commands.add_parser("judge")
    judging.add_argument("folder")
    judging.add_argument("--highwater", required=True)
    options = parser.parse_args()
    sys.exit(record(options) if options.command == "record" else judge(options))


if __name__ == "__main__":
    main()
