#!/usr/bin/env python3
"""Draws programs of the caching allocator's mechanisms, runs them in the installed PyTorch on the fake device, and
asks whether their recordings replay as they were.

  random_programs.py record FOLDER --fakecuda build/dev/fakecuda/cuda13 --seeds 1-1000 [--only WORD,...]
  random_programs.py judge FOLDER --highwater build/dev/highwater

`record` writes FOLDER/SEED.pickle and SEED.json (what the program did, and the most that it reserved), one process for
each program, forked after a single import of torch; a program that ends otherwise is listed. `judge` replays each
recording as it was: what is not reproduced is listed by cause, the first decision that differs without its numbers.
It also replays the requests alone under the recorded settings, which shows what a recording leaves open: the peak is
exact, or the report's own_settings_error says by how much it is off, or it is wrong. Both print a line of totals,
`judge` a table by what programs did.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import ctypes
import json
import os
import pickle
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

os.environ["HIGHWATER_CONFIG"] = ""  # no defaults of whoever runs this

MIB = 1 << 20
SIZES = (600, 70_000, 900_000, 1_500_000, 6_000_000, 15_000_000, 40_000_000)
CONFS = ("", "", "max_split_size_mb:32", "max_split_size_mb:200,max_non_split_rounding_mb:30",
         "expandable_segments:True", "roundup_power2_divisions:4", "garbage_collection_threshold:0.5",
         "expandable_segments:True,max_split_size_mb:64", "expandable_segments:True,garbage_collection_threshold:0.5",
         "large_segment_size_mb:64", "expandable_segments:True,large_segment_size_mb:64")
SWITCHED = ("expandable_segments:True", "expandable_segments:False", "max_split_size_mb:64",
            "roundup_power2_divisions:8", "garbage_collection_threshold:0.8")
H100 = "name=NVIDIA H100 80GB HBM3;major=9;minor=0;multiprocessors=132;memory=85017493504"
MOST_LIVE = 40


class Program:
    """One random program: what it allocates, on which streams, in which pools and captures."""

    def __init__(self, torch, seed, only):
        self.torch, self.random = torch, random.Random(seed)
        self.live, self.graphs, self.callables, self.done = [], [], [], set()
        self.acts = {"eager": 30, "in_pool": 14, "in_nested_pools": 5, "capture": 14, "capture_in_pools": 6,
                     "concurrent_captures": 4, "checkpoint": 3, "graphed_callable": 2, "empty_cache": 8,
                     "destroy_graph": 8, "delete_pool": 5, "new_pool": 5, "switch_settings": 3, "limit": 2,
                     "synchronize": 5}
        if only:
            self.acts = {name: weight for name, weight in self.acts.items() if name == "eager" or name in only}
        self.conf = self.random.choice(CONFS)
        self.capacity = self.random.choice((None, None, 400, 700, 1200))

    def prepare(self):
        """The settings that are read at the first use of the device."""
        os.environ["PYTORCH_ALLOC_CONF"] = self.conf
        if self.capacity:
            os.environ["FAKE_CUDA_CAPACITY"] = f"{self.capacity}M"
        os.environ["FAKE_CUDA_EVENT_LAG"] = str(self.random.choice((0, 0, 3, 50)))
        ctypes.CDLL("libcudart.so.13").fakecuda_read_environment()

    def run(self):
        cuda, draw = self.torch.cuda, self.random
        self.streams = [cuda.current_stream()] + [cuda.Stream() for _ in range(3)]
        self.handle = cuda.graph_pool_handle()
        self.pools = [self.made_pool() for _ in range(2)]
        if "garbage_collection" in self.conf and draw.random() < 0.7:
            cuda.set_per_process_memory_fraction(draw.uniform(0.3, 0.9))
        for _ in range(30):
            act = draw.choices(list(self.acts), list(self.acts.values()))[0]
            self.done.add(act)
            with self.survived():
                getattr(self, act)()
            while len(self.live) > MOST_LIVE:
                self.live.pop(draw.randrange(len(self.live)))

    @contextlib.contextmanager
    def survived(self):
        try:
            yield
        except self.torch.cuda.OutOfMemoryError:
            self.done.add("out of memory")

    def facts(self):
        """What is known of the program beside its recording."""
        stats = self.torch.cuda.memory_stats()
        done = {*self.done, *(["retry"] if stats["num_alloc_retries"] else []),
                *(option.partition(":")[0] for option in self.conf.split(",") if option)}
        return {"done": sorted(done), "conf": self.conf, "capacity": self.capacity,
                "peak_reserved": stats["reserved_bytes.all.peak"], "reserved": stats["reserved_bytes.all.current"]}

    # ---- what is allocated

    def tensor(self):
        size = int(self.random.choice(SIZES) * self.random.uniform(0.8, 1.2))
        return self.torch.empty(size, dtype=self.torch.uint8, device="cuda")

    def body(self, steps, kept, is_captured=False):
        """Appends to `kept`, which survives when memory runs out."""
        draw = self.random
        for _ in range(steps):
            chance = draw.random()
            if chance < 0.5 or not kept:
                kept.append(self.tensor())
            elif chance < 0.8:
                kept.pop(draw.randrange(len(kept)))
            else:
                draw.choice(kept).record_stream(draw.choice(self.streams))
                self.done.add("record_stream in a capture" if is_captured else "record_stream")
                self.torch.zeros(1, dtype=self.torch.uint8, device="cuda")  # a launch, by which events lag

    def eager(self):
        with self.torch.cuda.stream(self.random.choice(self.streams)):
            self.body(12, self.live)

    # ---- pools

    def made_pool(self):
        draw = self.random
        return self.torch.cuda.MemPool(use_on_oom=draw.random() < 0.2, no_split=draw.random() < 0.25)

    def new_pool(self):
        self.pools.append(self.made_pool())

    def delete_pool(self):
        if len(self.pools) > 1:
            self.pools.pop(self.random.randrange(len(self.pools)))

    def in_pool(self):
        with self.torch.cuda.use_mem_pool(self.random.choice(self.pools)):
            self.body(6, self.live)

    def in_nested_pools(self):
        outer = self.random.choice(self.pools)
        inner = self.random.choice([pool for pool in self.pools if pool is not outer] or [self.made_pool()])
        with self.torch.cuda.use_mem_pool(outer):
            self.body(4, self.live)
            with self.torch.cuda.use_mem_pool(inner):
                self.body(4, self.live)
            self.body(4, self.live)

    # ---- captures

    def capture(self):
        draw, kept = self.random, []
        pool = draw.choice([None, self.handle, draw.choice(self.pools).id] + [g.pool() for g in self.graphs[-1:]])
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph, pool=pool):
            self.body(8, kept, is_captured=True)
        self.graphs.append(graph)
        self.live += kept[:2]

    def capture_in_pools(self):
        """A capture inside a MemPool's session, or a session inside a capture."""
        draw, kept = self.random, []
        graph, pool = self.torch.cuda.CUDAGraph(), draw.choice(self.pools)
        if draw.random() < 0.5:
            with self.torch.cuda.graph(graph):
                self.body(3, kept, is_captured=True)
                with self.torch.cuda.use_mem_pool(pool):
                    self.body(4, kept, is_captured=True)
                self.body(3, kept, is_captured=True)
        else:
            with self.torch.cuda.use_mem_pool(pool), self.torch.cuda.graph(graph):
                self.body(5, kept, is_captured=True)
        self.graphs.append(graph)
        self.live += kept[:2]

    def concurrent_captures(self):
        """Two at once, on two streams, their allocations in turns."""
        cuda, kept = self.torch.cuda, []
        graphs = [cuda.CUDAGraph(), cuda.CUDAGraph()]
        cuda.synchronize()
        for graph, stream in zip(graphs, self.streams[1:]):
            with cuda.stream(stream):
                graph.capture_begin(capture_error_mode="relaxed")
        try:
            for _ in range(3):
                for stream in self.streams[1:3]:
                    with cuda.stream(stream):
                        self.body(2, kept, is_captured=True)
        finally:
            for graph, stream in zip(graphs, self.streams[1:]):
                with cuda.stream(stream):
                    graph.capture_end()
        self.graphs += graphs
        self.live += kept[:2]

    def checkpoint(self):
        """What a cudagraph tree does: a pool is put back to an earlier state."""
        cuda, bindings, kept = self.torch.cuda, self.torch._C, []
        first, second = cuda.CUDAGraph(), cuda.CUDAGraph()
        with cuda.graph(first):
            self.body(6, kept, is_captured=True)
        state = bindings._cuda_getCheckpointState(cuda.current_device(), first.pool())
        more = []
        with cuda.graph(second, pool=first.pool()):
            self.body(6, more, is_captured=True)
        stale = [tensor.untyped_storage()._cdata for tensor in kept + more]  # they own their memory no longer
        bindings._cuda_setCheckpointPoolState(cuda.current_device(), state, stale, [])
        self.graphs += [first, second]

    def graphed_callable(self):
        linear = self.torch.nn.Linear(512, 2048, device="cuda")
        sample = self.torch.empty(64, 512, device="cuda")
        self.callables.append(self.torch.cuda.make_graphed_callables(linear, (sample,)))

    def destroy_graph(self):
        if self.graphs:
            self.graphs.pop(self.random.randrange(len(self.graphs)))

    # ---- the rest

    def empty_cache(self):
        self.torch.cuda.empty_cache()

    def synchronize(self):
        self.torch.cuda.synchronize()

    def switch_settings(self):
        self.torch._C._accelerator_setAllocatorSettings(self.random.choice(SWITCHED))

    def limit(self):
        self.torch.cuda.set_per_process_memory_fraction(self.random.uniform(0.5, 1))


# ---- recording

def run_program(torch, seed, options):
    """In a child: writes the recording."""
    from highwater_record import allocator_calls, captures, places
    program = Program(torch, seed, options.only)
    program.prepare()
    torch.cuda.init()
    settings = allocator_calls.settings_now(torch)
    stacks = {"context": "alloc", "stacks": "python"} if options.stacks else {"context": None}
    torch.cuda.memory._record_memory_history(max_entries=1_000_000, **stacks)
    clock = places.Clock(torch)
    calls = allocator_calls.AllocatorCalls(torch, clock, settings)
    if options.noted:
        calls.start()
        captures.mark(torch, clock, calls.marks)
    program.run()
    snapshot = torch.cuda.memory._snapshot()
    require_sound(snapshot, torch)
    (Path(options.folder) / f"{seed}.json").write_text(json.dumps(program.facts()))
    calls.write(snapshot)
    snapshot["torch_version"] = str(torch.__version__)
    with open(Path(options.folder) / f"{seed}.pickle", "wb") as file:
        pickle.dump(snapshot, file, protocol=4)


def pool_at(address, snapshot):
    """Of the last entry that took memory from the device there."""
    return next(entry["pool_id"] for entry in reversed(snapshot["device_traces"][0])
                if entry["action"] in ("segment_alloc", "segment_map") and 0 <= address - entry["addr"] < entry["size"])


def require_sound(snapshot, torch):
    """PyTorch 2.15 deletes some pools of expandable segments whose blocks are in use (cudaMalloc_count); what it does with
    these afterwards depends on freed memory."""
    shown = sum(segment["total_size"] for segment in snapshot["segments"])
    is_renamed = any(pool_at(segment["address"], snapshot) != segment["segment_pool_id"] for segment in snapshot["segments"])
    if shown != torch.cuda.memory_reserved() or is_renamed:
        raise RuntimeError("PyTorch deleted a pool whose blocks are in use")


def in_child(work):
    """How a child process that does `work` ends: "" when well, else in words."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        text = ""
        try:
            work()
        except BaseException as error:
            text = f"{type(error).__name__}: {error}".split("\n")[0]
        os.write(writer, text.encode()[:4000])
        os._exit(0)  # neither Python's nor CUDA's ends are part of the program
    os.close(writer)
    with os.fdopen(reader) as file:
        text = file.read()
    status = os.waitpid(child, 0)[1]
    return f"signal {signal.Signals(os.WTERMSIG(status)).name}" if os.WIFSIGNALED(status) else text


def under_fake_device(folder):
    """Starts this script again with the fake libraries, unless they are there."""
    libraries = str(Path(folder).resolve())
    if os.environ.get("LD_LIBRARY_PATH") != libraries:
        environment = {**os.environ, "LD_LIBRARY_PATH": libraries, "LD_PRELOAD": "libfakecuda.so.1",
                       "FAKE_CUDA_GPU": os.environ.get("FAKE_CUDA_GPU", H100)}
        os.execve(sys.executable, [sys.executable, *sys.argv], environment)


def record(options):
    under_fake_device(options.fakecuda)
    import torch
    sys.path.append(str(Path(__file__).resolve().parents[1] / "recorder"))
    Path(options.folder).mkdir(parents=True, exist_ok=True)
    failed = []
    for seed in options.seeds:
        end = in_child(lambda seed=seed: run_program(torch, seed, options))
        if end:
            failed.append(seed)
            print(f"{seed}: {end}", flush=True)
    print(f"{len(options.seeds) - len(failed)} of {len(options.seeds)} programs recorded")
    return 0


# ---- judging

def replayed(options, file, *more):
    run = subprocess.run([options.highwater, "replay", file, "--format", "json", *more], capture_output=True, text=True)
    return json.loads(run.stdout)["devices"][0] if run.returncode == 0 else run.stderr.strip().splitlines()[-1]


def cause_of(text):
    return re.sub(r"0x[0-9a-f]+|\d+(\.\d+)?( [KMG]iB)?", "N", text)


def difference(device):
    """What a replay as recorded did not reproduce; "" for nothing."""
    if isinstance(device, str):
        return device
    fidelity = device["fidelity"]
    for matched, compared, words in (("alloc_addresses_matched", "alloc_addresses_compared", "addresses"),
                                     ("segment_events_matched", "segment_events_recorded", "segment events"),
                                     ("final_segments_matched", "final_segments_compared", "final segments")):
        if fidelity[matched] != fidelity[compared]:
            first = (fidelity.get("first_divergence") or {}).get("description", "")
            return f"{words}: {first}" if first else words
    return ""


def has_free(replay):
    return isinstance(replay, dict)


def verdict_of(free, facts):
    """What a free replay says of the most that was reserved: "exact", "told" (off as its report says) or "wrong"."""
    if not has_free(free):
        return "wrong"
    error = free["peak"]["reserved_bytes"] / facts["peak_reserved"] - 1
    if not error:
        return "exact"
    return "told" if abs(error - free.get("own_settings_error", 0)) < 0.0005 else "wrong"


def judged(options, file):
    """(facts of the program, what its replay lacks, the verdict of its free replay, its error)"""
    facts = json.loads(file.with_suffix(".json").read_text())
    device = replayed(options, str(file))
    free = "not replayed"
    if has_free(device):
        conf = device["settings"] or "max_split_size_mb:1000000"  # as good as none
        free = replayed(options, str(file), "--alloc-conf", conf)
    error = free["peak"]["reserved_bytes"] / facts["peak_reserved"] - 1 if has_free(free) else 0
    return facts, difference(device), verdict_of(free, facts), error


def print_table(results):
    rows = collections.defaultdict(collections.Counter)
    for facts, different, verdict, _ in results.values():
        for name in ["all", *facts["done"]]:
            rows[name].update(["programs", verdict, *([] if different else ["whole"])])
    print("| what the program did | programs | replay whole | free: exact | off as it says | wrong |\n|---|--:|--:|--:|--:|--:|")
    for name, row in sorted(rows.items(), key=lambda item: -item[1]["programs"]):
        print(f"| {name} | {row['programs']} | {row['whole']} | {row['exact']} | {row['told']} | {row['wrong']} |")


def judge(options):
    files = sorted(Path(options.folder).glob("*.pickle"), key=lambda path: int(path.stem))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = dict(zip((file.stem for file in files), pool.map(lambda file: judged(options, file), files)))
    causes = collections.defaultdict(list)
    for seed, (_, different, _, _) in results.items():
        if different:
            causes[cause_of(different)].append((seed, different))
    for cause, found in sorted(causes.items(), key=lambda item: -len(item[1])):
        print(f"{len(found)} x {cause}\n    seeds {', '.join(seed for seed, _ in found[:12])}; the first: {found[0][1]}")
    off = [(abs(error), error, seed, verdict) for seed, (_, _, verdict, error) in results.items() if verdict != "exact"]
    for _, error, seed, verdict in sorted(off, reverse=True)[:12]:
        print(f"free replay of {seed}: {100 * error:+.2f} % ({verdict})")
    print_table(results)
    wrong = sum(map(len, causes.values()))
    exact = sum(verdict == "exact" for _, _, verdict, _ in results.values())
    print(f"{len(files) - wrong} of {len(files)} recordings replay whole; free replays exact in {exact}")
    return 1 if wrong else 0


def seeds_of(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    recorder = commands.add_parser("record")
    recorder.add_argument("folder")
    recorder.add_argument("--fakecuda", required=True, help="the folder of the fake libraries")
    recorder.add_argument("--seeds", type=seeds_of, default=range(1, 101))
    recorder.add_argument("--only", type=lambda text: text.split(","), help="acts besides eager ones")
    recorder.add_argument("--stacks", action="store_true", help="with call stacks")
    recorder.add_argument("--noted", action="store_true", help="with what `highwater record` notes of calls")
    judging = commands.add_parser("judge")
    judging.add_argument("folder")
    judging.add_argument("--highwater", required=True)
    judging.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    sys.exit(record(options) if options.command == "record" else judge(options))


if __name__ == "__main__":
    main()
