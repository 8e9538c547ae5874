"""Work in proportion to input: growth_test.py HIGHWATER SOURCE_FOLDER PART [NAME...]

Every command and every reader gets an input of one size and one of ten times that size. The second
may take 2.5 times as much per item, in processor time and in memory, beyond what a tiny input of the
same kind takes; nothing is measured in absolute terms. A command of `highwater --help` that has no
case here fails the test, so that a new one is measured.

PART is one of the PARTS below, or all. With NAMEs, cases whose name contains one of them.
"""

import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

FACTOR = 10
ALLOWED = 2.5  # times as much per item
TRIES = 2

INFO_ALLOWED = 2.5  # times a replay

# What the smaller input must take beyond the tiny one to be more than noise; less counts as this.
LEAST_SECONDS = 0.02
LEAST_KIB = 2048

# Of the program, so that a case that fails harms nobody.
MOST_MEMORY = 8 << 30

MEASURE = f"""
import os, resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({MOST_MEMORY}, {MOST_MEMORY}))
null = os.open(os.devnull, os.O_RDWR)
actions = [(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, null, 1)]
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=actions)
_, status, used = os.wait4(child, 0)
print(os.waitstatus_to_exitcode(status) if hasattr(os, "waitstatus_to_exitcode") else status >> 8,
      used.ru_utime + used.ru_stime, used.ru_maxrss)
"""


class Lab:
    """The program, and a folder for inputs, which are made once."""

    def __init__(self, highwater, source, folder):
        self.highwater = highwater
        self.source = source
        self.folder = Path(folder)

    def path(self, name):
        return self.folder / name

    def make(self, name, write):
        """The file or folder `name`, which `write(path)` makes."""
        path = self.path(name)
        if not path.exists():
            write(path)
        return path

    def run(self, *arguments, codes=(0,)):
        done = subprocess.run([self.highwater, *map(str, arguments)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode not in codes:
            raise AssertionError(f"{' '.join(map(str, arguments))}: code {done.returncode}: {done.stderr[-500:]}")

    def measure(self, arguments, codes):
        """Processor seconds and KiB. A small process starts the program: the memory of one that forks counts
        as that of its child until this executes."""
        done = subprocess.run([sys.executable, "-I", "-S", "-c", MEASURE, self.highwater, *map(str, arguments)],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=True)
        code, seconds, kib = done.stdout.split()
        if int(code) not in codes:
            raise AssertionError(f"{' '.join(map(str, arguments))}: code {code}: {done.stderr[-500:]}")
        return float(seconds), int(kib)


# --- inputs ----------------------------------------------------------------------------------------


def write_lines(path, lines):
    with open(path, "w") as file:
        file.writelines(lines)


def trace_lines(entries, stacks=20, streams=1, steps=1, live=100):
    """A training-like .trace: `live` blocks at most, in `steps` steps, from `stacks` call sites of six frames."""
    yield "conf \n"
    for k in range(stacks):
        for depth in range(6):
            yield f"frame {6 * k + depth} {k % 900 + 1} model/layer{k // 900}.py\tforward{depth}\n"
        yield f"stack {k} {' '.join(str(6 * k + depth) for depth in range(6))}\n"
    yield "a w 1048576 0 parameter @0\n"
    per_step = max(entries // steps // 2, 1)
    block = 0
    for step in range(steps):
        yield f"step {step}\nphase forward\n"
        begin = block
        for _ in range(per_step):
            size = 512 * (1 + block * 7919 % 61) << (block % 3) * 4
            yield f"a {block} {size} {block * 31 % streams} activation @{block * 17 % stacks}\n"
            block += 1
            if block - begin > live:
                yield f"f {block - live - 1}\n"
        for each in range(max(begin, block - live), block):
            yield f"f {each}\n"


def trace(lab, entries, **options):
    name = "-".join([f"t{entries}", *(f"{key}{value}" for key, value in options.items())])
    return lab.make(f"{name}.trace", lambda path: write_lines(path, trace_lines(entries, **options)))


def capture_lines(count):
    """A run that captures as many CUDA graphs, each in a pool of its own after a warm-up."""
    yield "conf \nframe 0 1 serve.py\tmain\nstack 0 0\na w 1048576 0 @0\n"
    for i in range(1, count + 1):
        yield f"a u{i} {4096 * i} 0 @0\nf u{i}\npool_begin {i}\na t{i} {8192 * i} 7 @0\na y{i} 512 7 @0\nf t{i}\npool_end {i}\n"


def captures(lab, count):
    return lab.make(f"captures{count}.trace", lambda path: write_lines(path, capture_lines(count)))


def phases(lab):
    """An engine of blocks and a plan, in turns."""
    text = ('[programs.engine]\nblocks = [{name = "weights", size = "1GiB"}, {name = "cache", size = "4GiB"}]\n'
            '[programs.trainer]\nplan = "--model gpt2 --batch 1 --seq 64"\n'
            '[[phases]]\nrun = "engine"\n[[phases]]\nrun = "trainer"\nasleep = ["engine:cache"]\n')
    return lab.make("phases.toml", lambda path: write_lines(path, [text]))


def log_lines(lines, messages):
    """Of eight ranks, with messages that differ, some of them cut short."""
    for i in range(lines):
        yield f"2026-11-28 21:04:13,{i % 1000:03} INFO [rank{i % 8}] step {i} loss 2.{i % 10}\n"
    for i in range(messages):
        yield (f"[rank{i % 8}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {i}.10 MiB. GPU 0 has a total "
               "capacity of 39.39 GiB of which 1.31 MiB is free. Of the allocated memory 29.40 GiB is allocated by PyTorch, "
               "and 7.95 GiB is reserved by PyTorch but unallocated."[:400 - 60 * (i % 4)] + "\n")


def log(lab, lines, messages=1):
    return lab.make(f"{lines}_{messages}.log", lambda path: write_lines(path, log_lines(lines, messages)))


def binary(lab, entries, **options):
    source = trace(lab, entries, **options)
    return lab.make(f"{source.stem}.hwt",
                    lambda path: lab.run("convert", source, path, "--stacks"))


def snapshot(lab, entries, **options):
    source = trace(lab, entries, **options)
    return lab.make(f"{source.stem}.pickle",
                    lambda path: lab.run("export", source, "--to", "snapshot", "--output", path))


def written_entry(action, address, size, stream, frames):
    return {"action": action, "addr": address, "size": size, "stream": stream, "frames": frames, "time_us": 0}


def snapshot_object(entries, devices=1, segments=0):
    """A snapshot as torch.cuda.memory._snapshot() has it, with blocks that come and go at one place."""
    base = 0x7F0000000000
    frames = [{"filename": "train.py", "line": 3, "name": "step"}]
    traces = []
    for device in range(devices):
        made = [written_entry("segment_alloc", base, 2 << 20, 0, frames)] if entries else []
        for i in range(entries // devices // 3):
            size = 512 * (1 + i % 7)
            made += [written_entry("alloc", base, size, 0, frames),
                     written_entry("free_requested", base, size, 0, []),
                     written_entry("free_completed", base, size, 0, [])]
        traces.append(made)
    held = []
    for i in range(segments):
        address = base + (i + 1) * (2 << 20)
        held.append({"device": 0, "address": address, "total_size": 2 << 20, "stream": 0, "segment_type": "small",
                     "allocated_size": 512, "active_size": 512, "requested_size": 512, "segment_pool_id": (0, 0),
                     "is_expandable": False, "frames": [],
                     "blocks": [{"address": address, "size": 512, "requested_size": 512, "state": "active_allocated",
                                 "frames": frames},
                                {"address": address + 512, "size": (2 << 20) - 512, "requested_size": 0,
                                 "state": "inactive", "frames": []}]})
    return {"segments": held, "device_traces": traces}


def write_json(path, value):
    with open(path, "w") as file:
        json.dump(value, file)


def write_pickle(path, value):
    import pickle
    with open(path, "wb") as file:
        pickle.dump(value, file)


def json_snapshot(lab, entries):
    return lab.make(f"s{entries}.json", lambda path: write_json(path, snapshot_object(entries)))


def devices_snapshot(lab, devices):
    return lab.make(f"d{devices}.pickle", lambda path: write_pickle(path, snapshot_object(3000 * devices, devices)))


def segments_snapshot(lab, segments):
    return lab.make(f"g{segments}.pickle", lambda path: write_pickle(path, snapshot_object(30, segments=segments)))


def profiler_trace(lab, events):
    def memory(i, size):
        return {"ph": "i", "name": "[memory]", "ts": i,
                "args": {"Bytes": size, "Addr": 4096 * (1 + i // 2), "Device Type": 1, "Device Id": 0,
                         "Total Allocated": max(size, 0), "Total Reserved": 2 << 20}}

    def write(path):
        made = [memory(i, 1024 if i % 2 == 0 else -1024) for i in range(events)]
        write_json(path, {"schemaVersion": 1, "deviceProperties": [{"id": 0}], "traceEvents": made})

    return lab.make(f"p{events}.json", write)


def write_archive(path, members):
    """`members` are pairs of name and bytes."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members:
                archive.writestr(name, content)
    else:
        with tarfile.open(path, "w:gz" if path.suffix == ".tgz" else "w") as archive:
            for name, content in members:
                header = tarfile.TarInfo(name)
                header.size = len(content)
                archive.addfile(header, io.BytesIO(content))


def whole_members(count):
    content = "".join(trace_lines(40)).encode()
    return [(f"rank{i}.trace", content) for i in range(count)]


def archive(lab, count, ending, members):
    return lab.make(f"{members.__name__}{count}.{ending}", lambda path: write_archive(path, members(count)))


def broken_members(count):
    return [(f"rank{i}.pickle", b"the disk was full") for i in range(count)]


def folder_of(lab, name, count, content, ending):
    def write(path):
        path.mkdir()
        for i in range(count):
            (path / f"rank{i}{ending}").write_bytes(content)

    return lab.make(f"{name}{count}", write)


def many_files(lab, count):
    return folder_of(lab, "many", count, "".join(trace_lines(40)).encode(), ".trace")


def vectors(lab, count):
    known = lab.source / "tests/data/conformance"

    def write(path):
        path.mkdir()
        for i in range(count):
            for ending in (".trace", ".expected"):
                shutil.copy(known / f"{VECTOR}{ending}", path / f"v{i}{ending}")

    return lab.make(f"vectors{count}", write)


def config(lab, layers=2, hidden=64, name="c"):
    content = {"model_type": "llama", "vocab_size": 256, "hidden_size": hidden, "intermediate_size": 2 * hidden,
               "num_hidden_layers": layers, "num_attention_heads": 2, "num_key_value_heads": 2,
               "max_position_embeddings": 4096, "architectures": ["LlamaForCausalLM"]}
    return lab.make(f"{name}{layers}-{hidden}.json", lambda path: write_json(path, content))


def wide_config(lab, keys):
    """A config.json with many keys that nobody knows."""
    def write(path):
        content = json.loads(config(lab).read_text())
        content.update({f"unknown_{i}": i for i in range(keys)})
        write_json(path, content)

    return lab.make(f"w{keys}.json", write)


def tiny(lab, **options):
    return ["--model", config(lab, **options), "--seq", "32"]


def grid(lab, points):
    content = {"grid": [{"model": str(config(lab)), "batch": list(range(1, points + 1)), "seq": 32, "steps": 2}]}
    return lab.make(f"grid{points}.json", lambda path: write_json(path, content))


def lengths(lab, count):
    return lab.make(f"lengths{count}.txt", lambda path: write_lines(path, (f"{1 + i % 4000}\n" for i in range(count))))


def sweep_values(points):
    return ",".join(str(21 + i) for i in range(points))


def journal(lab, points):
    return lab.make(f"sweep{points}.journal",
                    lambda path: lab.run("sweep", trace(lab, 40), "--set", f"max_split_size_mb={sweep_values(points)}",
                                         "--journal", path))


def parts(lab, points):
    made = []
    for shard in (1, 2):
        made.append(lab.make(
            f"sweep{points}.part{shard}",
            lambda path, shard=shard: lab.run("sweep", trace(lab, 40), "--set",
                                              f"max_split_size_mb={sweep_values(points)}", "--shard", f"{shard}/2",
                                              "--output", path)))
    return made


def baseline(lab, stacks):
    source = trace(lab, 4 * stacks, stacks=stacks, live=2 * stacks)
    return lab.make(f"baseline{stacks}.json",
                    lambda path: lab.run("check", source, "--baseline", path, "--accept", codes=(0, 1)))


def program(lab, layers):
    """A program fitted to four recordings."""
    def write(path):
        runs = []
        for batch, seq in ((1, 32), (1, 64), (2, 64), (4, 64)):
            run = lab.path(f"fit{layers}-b{batch}s{seq}.hwt")
            lab.run("generate", "--model", config(lab, layers=layers), "--batch", batch, "--seq", seq, "--output", run)
            runs.append(f"{run}:batch={batch},seq={seq}")
        lab.run("fit", *runs, "--output", path)

    return lab.make(f"run{layers}.hwp", write)


def recordings(lab, layers):
    program(lab, layers)
    return [f"{lab.path(f'fit{layers}-b{batch}s{seq}.hwt')}:batch={batch},seq={seq}"
            for batch, seq in ((1, 32), (1, 64), (2, 64), (4, 64))]


# --- cases -----------------------------------------------------------------------------------------


class Case:
    """`arguments(lab, n)` are those of a run over n items; `codes` are the exit codes that are right.
    `allowed` is how many times as much an item may take."""

    def __init__(self, name, size, arguments, codes=(0,), allowed=ALLOWED):
        self.name = name
        self.size = size
        self.arguments = arguments
        self.codes = codes
        self.allowed = allowed

    @property
    def command(self):
        return self.name.split()[0]


OUT = "/dev/null"
VECTOR = "tight_mixed"

READERS = [
    Case("replay entries of a pickle", 40000, lambda lab, n: ["replay", snapshot(lab, n)]),
    Case("replay entries of a JSON snapshot", 10000, lambda lab, n: ["replay", json_snapshot(lab, n)]),
    Case("replay events of a profiler's trace", 20000, lambda lab, n: ["replay", profiler_trace(lab, n)]),
    Case("replay entries of a .trace", 60000, lambda lab, n: ["replay", trace(lab, n)]),
    Case("replay entries of a .hwt", 100000, lambda lab, n: ["replay", binary(lab, n)]),
    Case("replay streams", 500, lambda lab, n: ["replay", snapshot(lab, 20 * n, streams=n)]),
    Case("replay devices", 12, lambda lab, n: ["replay", devices_snapshot(lab, n)]),
    Case("replay segments", 6000, lambda lab, n: ["replay", segments_snapshot(lab, n)]),
    Case("replay edits", 150, lambda lab, n: ["replay", trace(lab, 5000)] +
         [word for i in range(n) for word in ("--edit", "scale:site=layer,by=1")]),
    Case("info stacks", 3000, lambda lab, n: ["info", snapshot(lab, 4 * n, stacks=n, live=2 * n)]),
    Case("info segments", 6000, lambda lab, n: ["info", segments_snapshot(lab, n)]),
    Case("models keys of a config.json", 30000, lambda lab, n: ["models", wide_config(lab, n)]),
    Case("simulate layers of a .hwp", 30, lambda lab, n: ["simulate", "--from", program(lab, n), "--batch", "8",
                                                         "--seq", "128"]),
    Case("chance lines of a lengths file", 150000, lambda lab, n: ["chance", "--model", config(lab), "--lengths",
                                                                 lengths(lab, n), "--runs", "1", "--steps", "2"]),
    Case("check sites of a baseline", 1500, lambda lab, n: [
        "check", trace(lab, 4 * n, stacks=n, live=2 * n), "--baseline", baseline(lab, n)]),
    Case("check stacks that a baseline lacks", 1500, lambda lab, n: [
        "check", trace(lab, 4 * n, stacks=n, live=2 * n), "--baseline", baseline(lab, 20)], codes=(0, 1)),
]

RUNS = [
    Case("explain lines of a log", 20000, lambda lab, n: ["explain", log(lab, n)]),
    Case("explain messages of a log", 2000, lambda lab, n: ["explain", log(lab, 10, n)]),
    Case("explain entries", 4000, lambda lab, n: ["explain", snapshot(lab, n)]),
    Case("explain stacks", 1500, lambda lab, n: ["explain", snapshot(lab, 4 * n, stacks=n, live=2 * n)]),
    Case("explain streams", 200, lambda lab, n: ["explain", snapshot(lab, 20 * n, streams=n)]),
    Case("advise entries", 6000, lambda lab, n: ["advise", snapshot(lab, n)]),
    Case("advise stacks", 1500, lambda lab, n: ["advise", snapshot(lab, 4 * n, stacks=n, live=2 * n)]),
    Case("check entries", 20000, lambda lab, n: ["check", snapshot(lab, n), "--max-reserved", "1TiB"]),
    Case("report entries", 3000, lambda lab, n: ["report", snapshot(lab, n), "--output", OUT]),
    Case("report stacks", 1000, lambda lab, n: ["report", snapshot(lab, 4 * n, stacks=n, live=2 * n), "--output", OUT]),
    Case("report steps", 200, lambda lab, n: ["report", trace(lab, 40 * n, steps=n), "--output", OUT]),
    Case("diff entries", 2000, lambda lab, n: ["diff", snapshot(lab, n), snapshot(lab, n, live=90)]),
    Case("diff stacks", 400, lambda lab, n: ["diff", snapshot(lab, 4 * n, stacks=n, live=2 * n),
                                             snapshot(lab, 4 * n, stacks=n, live=n)]),
    Case("export entries", 10000, lambda lab, n: ["export", snapshot(lab, n), "--to", "csv", "--output", OUT]),
    Case("export entries as a snapshot", 10000, lambda lab, n: ["export", trace(lab, n), "--to", "snapshot",
                                                              "--output", OUT]),
    Case("phases", 40, lambda lab, n: ["phases", phases(lab), "--cycles", str(n)]),
    Case("captures", 300, lambda lab, n: ["captures", captures(lab, n), "--orders", "4"]),
    Case("reduce entries", 20000, lambda lab, n: ["reduce", snapshot(lab, n), "--keep", "peak>=1MiB", "--output",
                                              lab.path("reduced.hwt")]),
    Case("redact entries", 20000, lambda lab, n: ["redact", snapshot(lab, n), lab.path("redacted.hwt")]),
    Case("convert entries", 30000, lambda lab, n: ["convert", snapshot(lab, n), lab.path("converted.hwt")]),
    Case("convert stacks", 3000, lambda lab, n: ["convert", snapshot(lab, 4 * n, stacks=n, live=2 * n),
                                                lab.path("stacks.hwt"), "--stacks"]),
    Case("sweep points", 150, lambda lab, n: ["sweep", trace(lab, 2000), "--set",
                                            f"max_split_size_mb={sweep_values(n)}"]),
    Case("conformance vectors", 15, lambda lab, n: ["conformance", vectors(lab, n)]),
]

FLEET = [
    Case("scan files of a folder", 100, lambda lab, n: ["scan", many_files(lab, n)]),
    Case("scan members of a zip", 100, lambda lab, n: ["scan", archive(lab, n, "zip", whole_members)]),
    Case("scan members of a tar", 100, lambda lab, n: ["scan", archive(lab, n, "tar", whole_members)]),
    Case("scan members of a compressed tar", 100, lambda lab, n: ["scan", archive(lab, n, "tgz", whole_members)]),
    Case("scan members of a zip that are no snapshots", 300,
         lambda lab, n: ["scan", archive(lab, n, "zip", broken_members)], codes=(3,)),
    Case("scan members of a tar that are no snapshots", 300,
         lambda lab, n: ["scan", archive(lab, n, "tar", broken_members)], codes=(3,)),
    Case("scan members of a compressed tar that are no snapshots", 300,
         lambda lab, n: ["scan", archive(lab, n, "tgz", broken_members)], codes=(3,)),
    Case("scan stacks", 1000, lambda lab, n: ["scan", snapshot(lab, 4 * n, stacks=n, live=2 * n)]),
    Case("sweep points of a journal", 1200, lambda lab, n: [
        "sweep", trace(lab, 40), "--set", f"max_split_size_mb={sweep_values(n)}", "--journal", journal(lab, n),
        "--resume"]),
    Case("merge points of parts", 1200, lambda lab, n: ["merge", *parts(lab, n)]),
]

PLANS = [
    Case("simulate layers", 6, lambda lab, n: ["simulate", *tiny(lab, layers=n)]),
    Case("simulate steps", 60, lambda lab, n: ["simulate", *tiny(lab), "--steps", n]),
    Case("simulate micro-batches", 10, lambda lab, n: ["simulate", *tiny(lab), "--grad-accum", n]),
    Case("simulate ranks of FSDP2", 1000, lambda lab, n: ["simulate", *tiny(lab), "--dp", n, "--dp-kind", "fsdp2"]),
    Case("simulate ranks of ZeRO-2", 1000, lambda lab, n: [
        "simulate", *tiny(lab), "--dp", n, "--dp-kind", "zero2", "--framework", "deepspeed"]),
    Case("simulate stages of a pipeline", 5, lambda lab, n: [
        "simulate", *tiny(lab, layers=n), "--pp", n, "--grad-accum", 8, "--rank", "all"]),
    Case("generate layers", 20, lambda lab, n: ["generate", *tiny(lab, layers=n), "--output", lab.path("g.hwt")]),
    Case("estimate layers", 80, lambda lab, n: ["estimate", *tiny(lab, layers=n)]),
    Case("estimate ranks", 10000, lambda lab, n: ["estimate", *tiny(lab), "--dp", n, "--dp-kind", "fsdp2"]),
    Case("plan GPUs", 10000, lambda lab, n: ["plan", "--model", "gpt2", "--gpu", "h100-80", "--gpus", n]),
    # Twice the layers take three and a half times as long (0.28 s for 80, 0.99 s for 160).
    Case("plan layers", 8, lambda lab, n: ["plan", *tiny(lab, layers=n), "--gpu", "24GiB", "--gpus", 1], allowed=FACTOR),
    Case("solve layers", 20, lambda lab, n: ["solve", "--for", "batch", *tiny(lab, layers=n), "--gpu", "1GiB"]),
    Case("chance runs", 20, lambda lab, n: ["chance", "--model", config(lab), "--lengths", "lognormal:median=20,sigma=0.6,max=32",
                                          "--runs", n, "--steps", "20"]),
    Case("validate points of a grid", 10, lambda lab, n: ["validate", grid(lab, n)]),
    # Requests of two runs are paired at the square of their number, up to a bound on the pairs.
    Case("fit layers", 2, lambda lab, n: ["fit", *recordings(lab, n), "--output", lab.path("fitted.hwp")], allowed=2 * FACTOR),
    Case("sweep points of a plan", 10, lambda lab, n: [
        "sweep", *tiny(lab), "--set", "batch=" + ",".join(map(str, range(1, n + 1)))]),
]

PARTS = {"readers": READERS, "runs": RUNS, "fleet": FLEET, "plans": PLANS}

# Commands whose work is another program's, or the same whatever they are given.
WITHOUT_INPUT = {"record": "runs a script under its own PyTorch", "schema": "prints a fixed text", "gpus": "prints a fixed table",
                 "completion": "prints a fixed text", "manual": "prints a fixed text"}


# --- measuring -------------------------------------------------------------------------------------


def growth(lab, case):
    """How much more per item the larger input takes, in time and in memory; the figures in words."""
    used = [lab.measure(case.arguments(lab, n), case.codes)
            for n in (max(case.size // FACTOR, 1), case.size, FACTOR * case.size)]
    rates = []
    for unit, least in ((0, LEAST_SECONDS), (1, LEAST_KIB)):
        tiny_input, small, large = (each[unit] for each in used)
        rates.append((large - tiny_input) / max(small - tiny_input, least) / FACTOR)
    words = ", ".join(f"{seconds:.2f} s {kib // 1024} MiB" for seconds, kib in used)
    return rates, words


def fails(lab, case):
    """What is wrong, once it has been seen TRIES times."""
    for _ in range(TRIES):
        try:
            rates, words = growth(lab, case)
        except AssertionError as error:
            return f"{case.name}: {error}"
        if max(rates) <= case.allowed:
            print(f"ok    {case.name}: {rates[0]:.1f} of the time, {rates[1]:.1f} of the memory ({words})", flush=True)
            return None
    return (f"{case.name}: {FACTOR} times as many take {FACTOR * rates[0]:.0f} times the time, "
            f"{FACTOR * rates[1]:.0f} times the memory ({words})")


def info_beside_replay(lab):
    """What is wrong with the time of info for a snapshot of many stacks, which a replay does not read: examining them
    costs as much as a replay, and half as much again for noise."""
    file = snapshot(lab, 120000, stacks=30000, live=60000)
    for _ in range(TRIES):
        info, replay = (lab.measure([command, file], (0,))[0] for command in ("info", "replay"))
        if info <= INFO_ALLOWED * replay:
            print(f"ok    info beside replay: {info / replay:.1f} of its time ({replay:.2f} s)", flush=True)
            return None
    return f"info takes {info / replay:.1f} times the time of a replay ({replay:.2f} s)"


def commands(lab):
    text = subprocess.run([lab.highwater, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.findall(r"^  ([a-z]+)  +\S", text.split("Version presets")[0], re.MULTILINE)


def commands_without_case(lab):
    measured = {case.command for cases in PARTS.values() for case in cases}
    known = commands(lab)
    missing = [name for name in known if name not in measured and name not in WITHOUT_INPUT]
    gone = [name for name in [*measured, *WITHOUT_INPUT] if name not in known]
    return [f"{name}: this command has no case in growth_test.py" for name in missing] + \
           [f"{name}: growth_test.py measures a command that does not exist" for name in gone]


def chosen(part, names):
    cases = [case for name, cases in PARTS.items() if part in (name, "all") for case in cases]
    return [case for case in cases if not names or any(name in case.name for name in names)]


def main():
    highwater, source, part, *names = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="highwater-") as folder:
        lab = Lab(highwater, Path(source), folder)
        failures = commands_without_case(lab)
        checks = [lambda case=case: fails(lab, case) for case in chosen(part, names)]
        if part in ("readers", "all") and not names:
            checks.append(lambda: info_beside_replay(lab))
        for check in checks:
            failure = check()
            if failure is not None:
                print("FAIL ", failure, flush=True)
                failures.append(failure)
    for failure in failures:
        print(failure, file=sys.stderr)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
