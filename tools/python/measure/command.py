"""The command line.

  record   runs cases and writes X.json, X.pickle.xz and index.json
  bundle   turns such a folder into one of traces/recorded: compact, with its index
  device   describes this machine
  matrix   rewrites the list of cases
  releases records one list under every pair of releases of PyTorch and transformers, and compares
  plans    plans over all strategies, by both engines, or beside scripts written by hand
  draw     cases drawn at random, as their users write them: `highwater record` beside `highwater simulate`
  scaling  programs of others, fitted by `highwater fit` at small sizes, beside recordings of 4 to 16 times as much
  scripts  scripts of your own, recorded beside what is told of them
  architectures  architectures of transformers, drawn at random: `--engine auto`, beside recordings of its scripts

Programs for other frameworks use record_main(): the same options with their own train().
"""

import argparse
import json
import os
import sys
from pathlib import Path

from . import bundle, environment, halves, matrix, processes, releases
from .architectures import command as architectures
from .batch import Batch, Limits
from .case_fields import DEFAULTS, CaseError, complete, shrunk
from .draw import command as draw
from .environment import MissingError
from .index import Index, part_of
from .installations import InstallError
from .plans import command as plans
from .scaling import command as scaling
from .user_scripts import command as user_scripts

HERE = Path(__file__).resolve().parent
LISTS = (HERE / "cases" / "first.json", HERE / "cases" / "matrix.json")
FORKED_SECONDS, FRESH_SECONDS = 3.0, 9.0  # of one case on a GPU, roughly: for the estimate of the remaining time


def default_program(run):
    """Runs what a case describes: a probe, or training."""
    if run.case["probe"]:
        from .probes import probe
        probe(run)
    else:
        from .training import train
        train(run)


def add_worker_options(parser):
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"],
                        help="cpu: nothing is recorded, the loops run with --tiny models (a self-test)")
    parser.add_argument("--fake-device", action="store_true",
                        help="the device is a simulated one, whose copies to the host give zeros")
    parser.add_argument("--stacks", default="none", choices=["none", "python", "all"],
                        help="for cases without this field: frames in the history (all: C++ as well, large)")
    parser.add_argument("--tiny", action="store_true", help="shrink every model")


def add_record_options(parser, lists):
    parser.add_argument("--out", default="recorded", help="folder of the results (default: %(default)s)")
    parser.add_argument("--cases", action="append", metavar="FILE", required=not lists,
                        help="list of cases; several times for several" +
                             (" (default: the lists in cases/)" if lists else ""))
    parser.set_defaults(lists=lists)
    parser.add_argument("--only", metavar="ID,...", help="only these cases; ~TEXT: those whose id contains TEXT")
    parser.add_argument("--part", metavar="P,...", help="only these parts: first, a, b, c, d")
    parser.add_argument("--list", action="store_true", help="print the cases with part, half and outcome so far")
    parser.add_argument("--dry-run", action="store_true",
                        help="show what would run and whether this machine can run it; record nothing")
    parser.add_argument("--batch-minutes", type=float, default=8, metavar="M",
                        help="start no case that may not finish within M minutes from now (default: %(default)s)")
    parser.add_argument("--timeout", type=float, default=120, metavar="S",
                        help="time limit of a case in seconds (default: %(default)s)")
    parser.add_argument("--retry-failed", action="store_true", help="rerun cases that died, failed or took too long")
    parser.add_argument("--jobs", type=positive, default=1, metavar="N",
                        help="cases at a time; with more than one on a real device the driver's figures are omitted, "
                             "because they cover all processes together")
    parser.add_argument("--fresh", action="store_true",
                        help="start a new Python for every case instead of forking one that has loaded torch")
    add_worker_options(parser)


def positive(text):
    """A type of argparse."""
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def wanted(case, only, parts):
    names = only.split(",") if only else None
    by_name = names is None or any(case["id"] == n or (n[:1] == "~" and n[1:] in case["id"]) for n in names)
    return by_name and (not parts or part_of(case) in parts.split(","))


def read_cases(options, defaults):
    """@raises CaseError"""
    cases, seen = [], set()
    for path in options.cases or options.lists:
        try:
            listed = json.loads(Path(path).read_text())
        except OSError as error:
            raise CaseError(f"{path} cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise CaseError(f"{path} is not JSON: {error}") from None
        if not isinstance(listed, list) or not all(isinstance(case, dict) for case in listed):
            raise CaseError(f"{path}: expected a list of objects, one for each case")
        for case in listed:
            complete(case, defaults)
            if case["id"] in seen:
                raise CaseError(f"{path}: two cases are called {case['id']}")
            seen.add(case["id"])
            if wanted(case, options.only, options.part):
                cases.append(case)
    if not cases:
        raise CaseError("no case matches --only and --part; --list shows all cases")
    return cases


def needs_fresh(case, options):
    """Settings of the allocator and of a simulated device are read before a process can be forked."""
    return options.fresh or bool(case.get("alloc_conf") or case.get("rig"))


def estimated_minutes(cases, options):
    seconds = sum(FRESH_SECONDS if needs_fresh(case, options) else FORKED_SECONDS for case in cases)
    return seconds / 60 / options.jobs


def list_cases(cases, index):
    width = max(len(case["id"]) for case in cases)
    for case in cases:
        outcome = index.entries.get(case["id"], {}).get("outcome", "")
        print(f"{case['id']:{width}s}  {part_of(case) or '-':5s}  {halves.half_of(case):8s}  {outcome}")


def dry_run(cases, todo, options, script):
    for case in todo:
        how = "fresh" if needs_fresh(case, options) else "forked"
        print(f"would run ({how}): {case['id']}")
    print(f"{len(cases)} cases, {len(cases) - len(todo)} done, {len(todo)} to run, about "
          f"{estimated_minutes(todo, options):.0f} minutes in batches of {options.batch_minutes:g}")
    try:
        processes.preload(todo)
        if options.device == "cuda":
            found = processes.describe_device(script)
            print(f"this machine can: torch {found['torch']}, CUDA {found['cuda']}, {found['gpu']['name']}")
    except MissingError as error:
        print(f"this machine cannot: {error}")
    return 0


def worker_arguments(options):
    arguments = ["--out", str(options.out), "--device", options.device, "--stacks", options.stacks]
    arguments += ["--tiny"] if options.tiny else []
    arguments += ["--fake-device"] if options.fake_device else []
    arguments += [] if options.reads_driver else ["--shared-device"]
    return arguments


def run_worker(case, program, defaults, options):
    from .case_run import run_case
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    case = complete(case, defaults)
    if options.tiny:
        case = shrunk(case)
    run_case(case, program, options)


def make_launcher(options, program, defaults, script, forks):
    def launch(case, work):
        log, variables = work / f"{case['id']}.log", processes.case_environment(case)
        if forks and not needs_fresh(case, options):
            return processes.Forked(lambda: run_worker(case, program, defaults, options), log, variables)
        case_path = work / f"{case['id']}.case.json"
        case_path.write_text(json.dumps(case))
        return processes.Fresh(script, case_path, worker_arguments(options), log, variables)

    return launch


def record(options, program, defaults, script, forks):
    """@raises CaseError, MissingError"""
    cases = read_cases(options, defaults)
    index = Index(options.out)
    if options.list:
        list_cases(cases, index)
        return 0
    todo = [case for case in cases if not index.is_done(case["id"], options.retry_failed)]
    if options.dry_run:
        return dry_run(cases, todo, options, script)
    try:
        Path(options.out).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MissingError(
            f"{options.out} cannot be created: {error.strerror}; choose another folder with --out") from None
    index.adopt(cases)
    todo = [case for case in todo if not index.is_done(case["id"], options.retry_failed)]
    options.reads_driver = options.fake_device or options.jobs == 1
    if options.device == "cuda":
        index.about = processes.describe_device(script)
    if forks:
        processes.preload(todo)
        problem = processes.problem_of_forks() if options.device == "cuda" else None
        if problem:
            print(f"every case starts a new Python, because a fork cannot use the device: {problem}", flush=True)
            options.fresh = True
    limits = Limits(60 * options.batch_minutes, options.timeout, options.jobs)
    batch = Batch(options.out, index, limits, make_launcher(options, program, defaults, script, forks),
                  report=lambda line: print(line, flush=True))
    left = batch.run(todo)
    print(f"this batch: {json.dumps(batch.tally)}; done before: {len(cases) - len(todo)}; left: {len(left)}")
    if left:
        print(f"about {estimated_minutes(left, options):.0f} minutes are left: run the same command again")
    return 0 if set(batch.tally) <= {"ok", "oom"} else 1


def work(options, program, defaults):
    options.reads_driver = not options.shared_device
    run_worker(json.loads(Path(options.case).read_text()), program, defaults, options)
    sys.stdout.flush()
    os._exit(0)  # no destructors: a half-torn-down process group or device must not hang the run


def make_parser(description, is_whole):
    parser = argparse.ArgumentParser(prog="measure" if is_whole else None, description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add_record_options(commands.add_parser("record", help="run cases and record them"), LISTS if is_whole else ())
    commands.add_parser("device", help="versions and device of this machine, as JSON")
    one = commands.add_parser("worker", help="run one case (what record starts)")
    one.add_argument("case", help="file with the case")
    one.add_argument("--out", required=True)
    one.add_argument("--shared-device", action="store_true", help="other processes are on the device")
    add_worker_options(one)
    if is_whole:
        bundle.add_options(commands.add_parser("bundle", help="turn results into a folder of traces/recorded"))
        matrix.add_options(commands.add_parser("matrix", help="rewrite the list of cases"))
        releases.add_options(commands.add_parser("releases", help="one list under pairs of releases, and which are exact"))
        plans.add_options(commands.add_parser("plans", help="run plans over all strategies by both engines"))
        draw.add_options(commands.add_parser("draw", help="record random cases and compare what one types first"))
        scaling.add_options(commands.add_parser("scaling", help="fit programs to small recordings and predict large ones"))
        user_scripts.add_options(commands.add_parser("scripts", help="record scripts and compare what is told of them"))
        architectures.add_options(commands.add_parser("architectures", help="run random architectures of transformers, and "
                                                                            "record the same scripts"))
    return parser


def run_command(options, program, defaults, script, forks):
    try:
        if options.command == "bundle":
            return bundle.run(options)
        if options.command == "matrix":
            return matrix.run(options)
        if options.command == "releases":
            return releases.run(options)
        if options.command == "plans":
            return plans.run(options)
        if options.command == "draw":
            return draw.run(options)
        if options.command == "scaling":
            return scaling.run(options)
        if options.command == "scripts":
            return user_scripts.run(options)
        if options.command == "architectures":
            return architectures.run(options)
        if options.command == "device":
            print(json.dumps(environment.describe(environment.import_torch())))
            return 0
        if options.command == "worker":
            work(options, program, defaults)
        return record(options, program, defaults, script, forks)
    except (CaseError, MissingError, InstallError, bundle.BundleError, matrix.MatrixError,
            releases.ReleasesError) as error:
        print(f"measure: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("measure: interrupted; finished cases are kept, the same command continues", file=sys.stderr)
        return 130


def main(arguments=None):
    options = make_parser(__doc__, is_whole=True).parse_args(arguments)
    return run_command(options, default_program, DEFAULTS, HERE, forks=not getattr(options, "fresh", False))


def record_main(program, script, description, defaults=DEFAULTS):
    """For a script with its own training loop, program(run), and possibly further fields of a case."""
    options = make_parser(description, is_whole=False).parse_args()
    return run_command(options, program, defaults, script, forks=False)
