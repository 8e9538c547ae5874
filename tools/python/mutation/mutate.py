#!/usr/bin/env python3
"""Mutates allocator/ or sim/ and says which mutants no test notices; see README.md beside it."""
import argparse
import dataclasses
import json
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import time
import tomllib

sys.dont_write_bytecode = True
import mutants as cpp  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
VECTORS = "tests/data/conformance"
MOST_MEMORY = 4 << 30


@dataclasses.dataclass(frozen=True)
class Layer:
    """A layer of the program, the targets that judge its mutants, and their command lines by name;
    the quickest come first."""
    folder: str
    targets: tuple
    judges: object


def allocator_judges(tests):
    test, vectors = tests / "allocator/allocator_test", tests / "allocator/conformance_vectors"
    folders = [ROOT / VECTORS, "2.6"]
    for folder in sorted((ROOT / VECTORS / "releases").iterdir()):
        folders += [folder, folder.name]
    return [("tests", [test, "~[property]", "--abort"]),
            ("vectors", [vectors, *folders]),
            ("properties", [test, "[property]", "--abort"])]


def sim_judges(tests):
    test = tests / "sim/sim_test"
    return [("tests", [test, "~[property]~[fidelity]~[slow]", "--abort"]),
            ("recordings", [test, "[fidelity]", "--abort"]),
            ("properties", [test, "[property],[slow]", "--abort"])]


LAYERS = {layer.folder: layer for layer in [
    Layer("allocator", ("allocator_test", "conformance_vectors"), allocator_judges),
    Layer("sim", ("sim_test",), sim_judges)]}


def main():
    options = parse_options()
    scratch = pathlib.Path(options.scratch).resolve()
    if scratch.is_relative_to(ROOT):
        sys.exit(f"--scratch {scratch}: inside the repository; name a folder outside it")
    layer, scratch = options.layer, scratch / options.layer.folder
    found = build_all(layer, options.mutated, scratch)
    judges = [Judge(name, command, scratch)
              for name, command in layer.judges(scratch / "build/tests")]
    results = Results(scratch / "results.json", options.fresh)
    wanted = select(found, options, results)
    deadline = time.monotonic() + 60 * options.minutes
    for i, mutant in enumerate(wanted):
        if time.monotonic() > deadline:
            print(f"\nStopped after {options.minutes} minutes; the same command goes on.")
            break
        print(f"\r{i + 1}/{len(wanted)} {mutant.file}:{mutant.line}", end="  ", flush=True)
        results.add(mutant, verdict(mutant, judges))
    print()
    sys.exit(report([m for m in found if is_wanted(m, options)], results))


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mutated", nargs="*", default=["allocator"], metavar="FOLDER",
                        help="what is mutated (allocator): a layer or rooms of one; the rest of it is"
                             " built as it is")
    parser.add_argument("--only", action="append", default=[], metavar="FILE",
                        help="mutants of this file, such as allocator/free.cpp; may be repeated")
    parser.add_argument("--sample", type=int, metavar="N", help="only N of the mutants, by chance")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of the sample (1)")
    parser.add_argument("--minutes", type=float, default=60, metavar="M",
                        help="stop after so long (60); the next run goes on from there")
    parser.add_argument("--again", action="store_true",
                        help="run the mutants again that survived: after a test was added")
    parser.add_argument("--fresh", action="store_true", help="forget the verdicts of earlier runs")
    parser.add_argument("--scratch", default="/tmp/highwater-mutation", metavar="DIR",
                        help="build folder and verdicts (/tmp/highwater-mutation)")
    options = parser.parse_args()
    options.layer = layer_of(options.mutated, parser)
    return options


def layer_of(folders, parser):
    names = {folder.split("/")[0] for folder in folders}
    if len(names) != 1 or not names <= LAYERS.keys():
        parser.error(f"{' '.join(folders)}: name folders of one layer, {' or '.join(LAYERS)}")
    for folder in folders:
        if not (ROOT / folder).is_dir():
            parser.error(f"{folder}: no such folder")
    return LAYERS[names.pop()]


# The build: one program with all mutants in it.

def build_all(layer, mutated, scratch):
    tree = link_tree(layer, scratch)
    dropped = {}
    while True:
        found = write_sources(layer, mutated, tree, dropped)
        errors, messages = compile_errors(layer, scratch)
        if not messages:
            break
        if all(lines <= dropped.get(file, set()) for file, lines in errors.items()):
            sys.exit(f"{messages}\nThe mutated tree in {tree} does not build; see mutants.py")
        for file, lines in errors.items():
            dropped.setdefault(file, set()).update(lines)
    count = sum(len(lines) for lines in dropped.values())
    found = [mutant for mutant in found if mutant.compiles]
    print(f"{len(found)} mutants; {count} lines without, since they would not compile")
    return found


def link_tree(layer, scratch):
    """A source tree that is this one but for the folder that is mutated."""
    tree = scratch / "tree"
    tree.mkdir(parents=True, exist_ok=True)
    for entry in ROOT.iterdir():
        link = tree / entry.name
        if entry.name not in (layer.folder, "build", ".git"):
            link.unlink(missing_ok=True)  # the scratch folder may have served another checkout
            link.symlink_to(entry)
    return tree


def write_sources(layer, mutated, tree, dropped):
    found = []
    folders = [ROOT / folder for folder in mutated]
    for path in sorted((ROOT / layer.folder).rglob("*")):
        name = str(path.relative_to(ROOT))
        if path.suffix in (".cpp", ".hpp") and any(map(path.is_relative_to, folders)):
            mutants, text = cpp.mutants_of(name, path.read_text(), len(found) + 1,
                                           frozenset(dropped.get(name, ())))
            found += mutants
            write_if_changed(tree / name, '#include <switch.hpp>\n#line 1\n' + text)
        elif path.is_file():
            write_if_changed(tree / name, path.read_text())
    return found


def write_if_changed(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def compile_errors(layer, scratch):
    """The lines of mutated files that do not compile, by file, and the end of the messages."""
    build = scratch / "build"
    if not (build / "build.ninja").exists():
        run(["cmake", "-S", scratch / "tree", "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=None",
             f"-DCMAKE_CXX_FLAGS=-O1 -w -D_GLIBCXX_ASSERTIONS -I{scratch / 'tree' / HERE.relative_to(ROOT)}"])
    made = subprocess.run(
        ["cmake", "--build", build, f"-j{os.cpu_count()}", "--", "-k", "0", *layer.targets],
        capture_output=True, text=True)
    if made.returncode == 0:
        return {}, ""
    errors = {}
    blamed = r"  required|error|note: .* was not initialized with a constant expression"
    sources = re.escape(str(scratch / "tree")) + rf"/({layer.folder}/[\w/]+\.[ch]pp)"
    for match in re.finditer(rf"{sources}:(\d+):\d+: (?:{blamed})", made.stdout):
        errors.setdefault(match[1], set()).add(int(match[2]))
    return errors, made.stdout[-4000:] + made.stderr


def run(command):
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode != 0:
        sys.exit(made.stdout[-4000:] + made.stderr)


# The judges: programs that fail when they notice a mutant.

class Judge:
    """Runs once without a mutant: to see that it passes, how long it takes and what it reaches."""

    def __init__(self, name, command, scratch):
        self.name, self.command, self.seconds = name, [str(part) for part in command], 600
        reached = scratch / f"reached_{name}.txt"
        begin = cpu_seconds()
        if self.fails({"HIGHWATER_REACHED": str(reached)}):
            sys.exit(f"{' '.join(self.command)}: fails without any mutant")
        self.seconds = int(4 * (cpu_seconds() - begin)) + 1
        self.reached = {int(line) for line in reached.read_text().split()}
        print(f"{name}: {len(self.reached)} mutants reached, limit {self.seconds} s")

    def notices(self, mutant):
        return mutant.number in self.reached and \
            self.fails({"HIGHWATER_MUTANT": str(mutant.number)})

    def fails(self, environment):
        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (self.seconds, self.seconds))
            resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        done = subprocess.run(self.command, env=os.environ | environment, preexec_fn=limit,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return done.returncode != 0


def cpu_seconds():
    """Of all judges so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def verdict(mutant, judges):
    for judge in judges:
        if judge.notices(mutant):
            return judge.name
    return "survived" if any(mutant.number in judge.reached for judge in judges) else "not reached"


# Verdicts, kept between runs.

LEFT = ("survived", "not reached")


class Results:
    def __init__(self, path, fresh):
        self.path = path
        self.verdicts = {}
        if path.exists() and not fresh:
            self.verdicts = {tuple(key): told for key, told in json.loads(path.read_text())}

    def add(self, mutant, told):
        self.verdicts[mutant.key] = told
        self.path.write_text(json.dumps(list(self.verdicts.items())))

    def of(self, mutant):
        return self.verdicts.get(mutant.key)


def is_wanted(mutant, options):
    return not options.only or mutant.file in options.only


def select(found, options, results):
    known = equivalents()
    wanted = [m for m in found if is_wanted(m, options) and m.change not in known and
              (results.of(m) is None or (options.again and results.of(m) in LEFT))]
    if options.sample is not None and options.sample < len(wanted):
        chosen = set(random.Random(options.seed).sample(range(len(wanted)), options.sample))
        wanted = [m for i, m in enumerate(wanted) if i in chosen]
    return wanted


def equivalents():
    """(file, before, after) of the mutants that equivalent.toml explains."""
    entries = tomllib.loads((HERE / "equivalent.toml").read_text())
    return {(entry["file"], entry["before"], after): entry["reason"]
            for entry in entries.get("equivalent", []) for after in entry["after"]}


def report(found, results):
    """Prints the survivors; 1 when there is one that is not explained."""
    known = equivalents()
    told = {m.key: results.of(m) for m in found if results.of(m) and m.change not in known}
    survivors = [m for m in found if told.get(m.key) in LEFT]
    for mutant in survivors:
        print(f"{mutant.file}:{mutant.line}: {mutant.before} -> {mutant.after}"
              f"{'  (not reached)' if told[mutant.key] == 'not reached' else ''}")
    explained = sum(m.change in known for m in found)
    unknown = len(found) - explained - sum(m.key in told for m in found)
    print(f"{len(found)} mutants: {len(found) - explained - unknown - len(survivors)} noticed, "
          f"{len(survivors)} survived, {explained} explained in equivalent.toml, {unknown} not run")
    return 1 if survivors else 0


if __name__ == "__main__":
    main()
