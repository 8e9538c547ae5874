"""One list of cases under every pair of releases of PyTorch and transformers, beside what is simulated for the pair.

Each pair has a folder of results like any other recording, with pair.json: the exact versions, and why the packages'
own requirements exclude the pair, if they do. What is there is not recorded again.
"""

import dataclasses
import json
import subprocess
from pathlib import Path

from . import release_table, simulated_device
from .case_run import write_atomically
from .index import Index
from .installations import InstallError, Installations, contradiction, versions

HERE = Path(__file__).resolve().parent
CASES = HERE / "cases" / "releases.json"

# Newest first. transformers: the oldest and newest known, and each in between that changed what is allocated
# (workloads/README.md, "Sources").
TORCH = ("2.15", "2.14", "2.13", "2.12", "2.11", "2.10", "2.8", "2.6")
TRANSFORMERS = ("5.24", "5.23", "5.21", "5.20", "5.19", "5.18", "5.15", "5.14", "5.13", "5.12")
LIMITS = ("--batch-minutes", "100000", "--timeout", "900")  # this command is itself what can be stopped and resumed
CUT_OFF = ("timeout", "died")  # outcomes of the machine, not of the releases


class ReleasesError(Exception):
    """Nothing can be recorded or compared; the message explains why."""


@dataclasses.dataclass(frozen=True)
class Pair:
    torch: str
    transformers: str

    @property
    def name(self):
        return f"torch{self.torch}-transformers{self.transformers}"


def chosen(text, known):
    """The releases that are asked for, in the order of `known`; others are taken as they are."""
    asked = text.split(",") if text else list(known)
    return sorted(asked, key=lambda name: known.index(name) if name in known else -1)


def pairs_of(options):
    return [Pair(torch, transformers) for torch in chosen(options.torch, TORCH)
            for transformers in chosen(options.transformers, TRANSFORMERS)]


class Results:
    """What is there of a pair."""

    def __init__(self, out, pair, cases):
        self.pair, self.cases, self.folder = pair, cases, Path(out) / pair.name
        path = self.folder / "pair.json"
        self.about = json.loads(path.read_text()) if path.exists() else {}

    @property
    def entries(self):
        return Index(self.folder).entries if self.folder.exists() else {}

    def is_complete(self):
        ended = {name for name, entry in self.entries.items() if entry["outcome"] not in CUT_OFF}
        return bool(self.about.get("excluded")) or {case["id"] for case in self.cases} <= ended

    def describe(self, found, excluded):
        self.folder.mkdir(parents=True, exist_ok=True)
        self.about = {**found, "excluded": excluded}
        text = json.dumps(self.about, indent=1) + "\n"
        write_atomically(self.folder / "pair.json", lambda partial: partial.write_text(text))


def record_pair(options, results, python, packages, say):
    """All cases that are missing. @raises ReleasesError"""
    excluded = contradiction(python, packages)
    results.describe(versions(python, packages), excluded)
    if excluded:
        say(f"{results.pair.name}: {excluded}")
        return
    start = Path(options.out) / "environments" / "start"
    simulated_device.write_start(start, options.libraries)
    folders = [start, packages] if packages else [start]
    say(f"{results.pair.name}: torch {results.about['torch']}, transformers {results.about['transformers']}")
    done = subprocess.run([str(python), str(HERE), "record", "--fake-device", "--cases", str(options.cases),
                           "--out", str(results.folder), "--retry-failed", *LIMITS],
                          env=simulated_device.environment(*folders))
    if done.returncode not in (0, 1):  # 1: cases that failed are results, too
        raise ReleasesError(f"{results.pair.name}: recording ended with status {done.returncode}; see above")


def record_torch(options, installations, all_results, say):
    """The pairs of one PyTorch. What cannot be installed is told and left out."""
    for results in all_results:
        pair = results.pair
        try:
            packages = installations.packages(pair.torch, pair.transformers)
            record_pair(options, results, installations.python(pair.torch), packages, say)
        except InstallError as error:
            say(f"{pair.name}: not installed: {error}")
    installations.remove(pair.torch)


def record_all(options, everything, say):
    installations = Installations(Path(options.out) / "environments", options.use)
    waiting = {}
    for results in everything:
        if not results.is_complete():
            waiting.setdefault(results.pair.torch, []).append(results)
    order = sorted(waiting, key=lambda torch: not installations.is_here(torch))
    try:
        for torch, following in zip(order, order[1:] + [None]):
            try:
                installations.python(torch)
            except InstallError as error:
                say(f"torch {torch}: not installed: {error}")
                continue
            if following and not installations.is_here(following):
                installations.downloads.begin(following)
            record_torch(options, installations, waiting[torch], say)
    finally:
        installations.downloads.stop()


def validate(program, folder):
    """{case: what `highwater validate` says}, simulated under the releases that the recordings name."""
    if not any(folder.glob("*.pickle.xz")):
        return {}
    try:
        done = subprocess.run([program, "validate", "--recorded", str(folder), "--format", "json"],
                              capture_output=True, text=True)
    except OSError as error:
        raise ReleasesError(f"{program} cannot be run: {error.strerror}; build it and give --highwater") from None
    if done.returncode != 0:
        raise ReleasesError(f"{folder}: {done.stderr.strip()}")
    document = json.loads(done.stdout)
    return {case["id"]: case for case in document["cases"] + document["unsupported"]}


def compare(options, everything):
    """{pair: excluded, or a verdict on each case that was recorded}"""
    found = {}
    for results in everything:
        if results.about.get("excluded"):
            found[results.pair] = results.about["excluded"]
        elif results.entries:
            validated = validate(options.highwater, results.folder)
            listed = {case["id"]: case for case in results.cases}
            found[results.pair] = {name: release_table.verdict(listed[name], entry, validated.get(name))
                                   for name, entry in results.entries.items() if name in listed}
    return found


def add_options(parser):
    parser.add_argument("--out", default="releases", help="folder of the results (default: %(default)s)")
    parser.add_argument("--highwater", required=True, metavar="FILE", help="the program that simulates")
    parser.add_argument("--libraries", metavar="FOLDER",
                        help="the CUDA libraries of the simulated device: cuda12/ and cuda13/ of the build's fakecuda/; "
                             "without it nothing is recorded, only compared")
    parser.add_argument("--torch", metavar="R,...", help=f"releases of PyTorch (default: {','.join(TORCH)})")
    parser.add_argument("--transformers", metavar="R,...",
                        help=f"releases of transformers (default: {','.join(TRANSFORMERS)})")
    parser.add_argument("--use", action="append", default=[], metavar="PYTHON",
                        help="a Python with one of these releases of PyTorch, used instead of installing it and left as "
                             "it is; several times for several")
    parser.add_argument("--cases", default=CASES, metavar="FILE", help="another list of cases")


def run(options):
    """@raises ReleasesError, InstallError"""
    cases = json.loads(Path(options.cases).read_text())
    everything = [Results(options.out, pair, cases) for pair in pairs_of(options)]
    if options.libraries:
        record_all(options, everything, say=lambda line: print(line, flush=True))
    print(release_table.table(compare(options, everything)))
    return 0
