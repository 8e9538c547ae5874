"""`measure draw`: draws, records, simulates, prints the table of errors."""

import shutil
import sys
import time

from ..case_fields import CaseError
from .drawn import drawn_cases
from .loops import LOOPS
from .old_releases import Releases
from .results import Runner, result_of, write_case
from .table import report


def add_options(parser):
    parser.add_argument("--seed", required=True, help="any word; the same one draws the same cases")
    parser.add_argument("--count", type=int, default=60, metavar="N", help="how many (default: %(default)s)")
    parser.add_argument("--loops", metavar="L,...", help=f"only these: {', '.join(LOOPS)}")
    parser.add_argument("--only", metavar="ID,...", help="only these of the cases drawn")
    parser.add_argument("--out", default="drawn", help="folder of the results (default: %(default)s)")
    parser.add_argument("--highwater", default="highwater", metavar="FILE", help="the program (default: on the PATH)")
    parser.add_argument("--module", metavar="FOLDER",
                        help="the build's python/: plans run in this process, whose Python loads PyTorch once (2 s a plan)")
    parser.add_argument("--python", default=sys.executable, metavar="FILE",
                        help="the Python whose PyTorch and transformers are recorded (default: this one)")
    parser.add_argument("--torch", metavar="R", help="the PyTorch of --python, where `simulate` has to be told")
    parser.add_argument("--transformers", metavar="R", help="its transformers; before 5.12, only what it has is drawn")
    parser.add_argument("--from-recording", action="store_true",
                        help="simulate the plan that each recording carries, not what one types first")
    parser.add_argument("--minutes", type=float, metavar="M", help="start no recording after M minutes")
    parser.add_argument("--dry-run", action="store_true", help="write the scripts and lines of the cases, run nothing")
    parser.add_argument("--format", choices=("text", "markdown"), default="text")


def chosen_cases(options):
    """@raises CaseError"""
    loops = tuple(options.loops.split(",")) if options.loops else tuple(LOOPS)
    unknown = set(loops) - set(LOOPS)
    if unknown:
        raise CaseError(f"--loops {', '.join(sorted(unknown))}: unknown; known are {', '.join(LOOPS)}")
    cases = drawn_cases(options.seed, options.count, loops, Releases(options.torch, options.transformers))
    return [case for case in cases if not options.only or case["id"] in options.only.split(",")]


def found_program(name):
    """@raises CaseError"""
    path = shutil.which(name)
    if path is None:
        raise CaseError(f"--highwater {name}: no such program; build it and name the file")
    return path


def run(options):
    """@raises CaseError"""
    from pathlib import Path
    cases = chosen_cases(options)
    if options.dry_run:
        for case in cases:
            write_case(case, Path(options.out) / case["id"])
        print(f"{options.out}: {len(cases)} cases, each with its script and lines.txt")
        return 0
    runner = Runner(found_program(options.highwater), options.python, options.from_recording, options.module)
    ends = time.monotonic() + 60 * options.minutes if options.minutes else None
    results = []
    for case in cases:
        if ends is not None and time.monotonic() > ends:
            print(f"{len(results)} of {len(cases)} cases; the same command goes on", file=sys.stderr)
            break
        result = result_of(case, options.out, runner)
        print(f"{result.get('seconds', 0):6.1f} s  {case['id']}", file=sys.stderr, flush=True)
        results.append(result)
    print(report(results, options.format))
    return 0
