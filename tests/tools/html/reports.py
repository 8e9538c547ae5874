"""The reports that the browser test opens, each made once: a plan, one that runs out of memory, a
recording, a million entries, a snapshot whose names try to get out of the page, and a scan of ranks."""

import os
import pickle
import shutil
import subprocess
import sys
import tempfile

MIB = 1 << 20

HOSTILE = [
    "</script><script>window.hacked = 1</script>",
    "<!--<script>",
    "<img src=x onerror='window.hacked = 2'>",
    "line\u2028and\u2029paragraph",
    "\"};window.hacked = 3;//",
    "javascript:window.hacked=4",
    "{{data}} {{nonce}} {{file d3.js}}",
]


def frame(name, line=7, filename="/home/user/train.py"):
    return {"filename": filename, "line": line, "name": name}


def hostile_snapshot():
    """Blocks of 2 MiB in segments of 20 MiB, allocated in functions with hostile names."""
    base = 0x7F0000000000
    segment = 20 * MIB
    stacks = [[frame(name, filename=f"/home/{name}/train.py")] for name in HOSTILE]
    trace = [{"action": "segment_alloc", "addr": base, "size": segment, "stream": 0, "frames": stacks[0]}]
    blocks = []
    for i, stack in enumerate(stacks):
        address = base + i * 2 * MIB
        trace.append({"action": "alloc", "addr": address, "size": 2 * MIB, "stream": 0, "frames": stack})
        blocks.append({"address": address, "size": 2 * MIB, "requested_size": 2 * MIB,
                       "state": "active_allocated", "frames": stack})
    used = len(stacks) * 2 * MIB
    blocks.append({"address": base + used, "size": segment - used, "requested_size": 0,
                   "state": "inactive", "frames": []})
    return {
        "segments": [{"device": 0, "address": base, "total_size": segment, "allocated_size": used,
                      "active_size": used, "requested_size": used, "stream": 0, "segment_type": "large",
                      "segment_pool_id": (0, 0), "is_expandable": False, "frames": stacks[0],
                      "blocks": blocks}],
        "device_traces": [trace],
        "allocator_settings": {},
    }


def timed_snapshot():
    """Two blocks in ten seconds: the first within three, the second after a pause of seven."""
    base = 0x7F0000000000
    segment = 20 * MIB
    trace = [{"action": "segment_alloc", "addr": base, "size": segment, "stream": 0, "time_us": 1000000, "frames": []}]
    for i in range(8):
        trace.append({"action": "alloc", "addr": base + i * 2 * MIB, "size": 2 * MIB, "stream": 0,
                      "time_us": 1000000 + (i * 400000 if i < 4 else 9000000 + i * 100000), "frames": [frame(f"step{i}")]})
    blocks = [{"address": base + i * 2 * MIB, "size": 2 * MIB, "requested_size": 2 * MIB, "state": "active_allocated",
               "frames": [frame(f"step{i}")]} for i in range(8)]
    blocks.append({"address": base + 16 * MIB, "size": 4 * MIB, "requested_size": 0, "state": "inactive", "frames": []})
    return {
        "segments": [{"device": 0, "address": base, "total_size": segment, "allocated_size": 16 * MIB,
                      "active_size": 16 * MIB, "requested_size": 16 * MIB, "stream": 0, "segment_type": "large",
                      "segment_pool_id": (0, 0), "is_expandable": False, "frames": [], "blocks": blocks}],
        "device_traces": [trace],
        "allocator_settings": {},
    }


class Reports:
    """Makes each report once."""

    def __init__(self, highwater, source):
        self.highwater = highwater
        self.source = source
        self.folder = tempfile.mkdtemp(prefix="highwater-report-")
        self.made = {}

    def path(self, name):
        return os.path.join(self.folder, name)

    def make(self, name, *arguments):
        if name not in self.made:
            output = self.path(name + ".html")
            subprocess.run([self.highwater, "report", *arguments, "--output", output], check=True,
                           stdout=subprocess.DEVNULL)
            self.made[name] = output
        return self.made[name]

    def plan(self):
        return self.make("plan", "--model", "gpt2", "--batch", "2", "--seq", "128", "--steps", "3")

    def plan_that_fails(self):
        return self.make("fails", "--model", "gpt2", "--batch", "8", "--seq", "512", "--capacity", "3GiB")

    def recording(self):
        return self.make("recording", os.path.join(
            self.source, "traces/recorded/fake/long-llama-1b-default.hwt.xz"))

    def of_snapshot(self, name, snapshot):
        with open(self.path(name + ".pickle"), "wb") as file:
            pickle.dump(snapshot, file, protocol=4)
        return self.make(name, self.path(name + ".pickle"))

    def hostile(self):
        return self.of_snapshot("hostile", hostile_snapshot())

    def timed(self):
        return self.of_snapshot("timed", timed_snapshot())

    def state_only(self):
        snapshot = timed_snapshot()
        snapshot["device_traces"] = [[]]
        return self.of_snapshot("state", snapshot)

    def state_and_history(self):
        self.timed()
        self.state_only()
        return self.make("state_and_history", self.path("state.pickle"), self.path("timed.pickle"))

    def two(self):
        recorded = os.path.join(self.source, "traces/recorded/fake")
        return self.make("two", os.path.join(recorded, "gpt2-fp32-varlen-capacity2700.hwt.xz"),
                         os.path.join(recorded, "gpt2-fp32-varlen-expandable-limit2700.hwt.xz"))

    def million(self):
        snapshot = self.path("million.pickle")
        subprocess.run([sys.executable, os.path.join(self.source, "tests/bench/make_snapshot.py"), snapshot,
                        "1000000"], check=True, stdout=subprocess.DEVNULL)
        return self.make("million", snapshot)

    def ranks(self, count):
        """The page of scan over so many ranks: 3 needs twice as much as the others, 7 cannot be read."""
        name = f"ranks{count}"
        if name not in self.made:
            os.mkdir(self.path(name))
            for rank in range(count):
                with open(os.path.join(self.path(name), f"rank{rank}.trace"), "w", encoding="utf-8") as file:
                    file.write("broken" if rank == 7 else f"a w {(2 if rank == 3 else 1) * 100 * MIB} 0\n")
            output = self.path(name + ".html")
            subprocess.run([self.highwater, "scan", self.path(name), "--html", output], stdout=subprocess.DEVNULL)
            self.made[name] = output
        return self.made[name]

    def remove(self):
        shutil.rmtree(self.folder)
