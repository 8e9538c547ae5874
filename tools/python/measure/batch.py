"""Runs cases, each in its own process, until none are left or time runs out."""

import dataclasses
import json
import time
from pathlib import Path

from .index import entry_of, files_of

SHORTEST_LIMIT = 20  # seconds: with less time left than this, no case is started


@dataclasses.dataclass
class Limits:
    batch_seconds: float  # for all cases; no case is started that may not finish in time
    case_seconds: float   # of one
    jobs: int


@dataclasses.dataclass
class Attempt:
    case: dict
    process: object
    began: float
    limit: float  # seconds


class Batch:
    """launch(case, work folder) starts a process; report(line) receives progress messages."""

    def __init__(self, folder, index, limits, launch, report=print, clock=time.monotonic, pause=time.sleep):
        self.folder, self.index, self.limits = Path(folder), index, limits
        self.launch, self.report, self.clock, self.pause = launch, report, clock, pause
        self.work = self.folder / ".work"
        self.slowest = SHORTEST_LIMIT / 1.5
        self.running = []
        self.tally = {}

    def run(self, cases):
        """Returns the cases for which there was no time."""
        self.work.mkdir(parents=True, exist_ok=True)
        self.deadline = self.clock() + self.limits.batch_seconds
        waiting = list(cases)
        try:
            while waiting or self.running:
                while waiting and len(self.running) < self.limits.jobs and self.has_time():
                    self.start(waiting.pop(0))
                if not self.running:
                    break
                self.wait()
        finally:  # interrupted: running cases leave nothing behind
            for attempt in self.running:
                attempt.process.kill()
                self.forget(attempt.case)
        return waiting

    def left(self):
        return self.deadline - self.clock()

    def has_time(self):
        """Enough for one and a half times the slowest case so far."""
        return self.left() >= 1.5 * self.slowest

    def start(self, case):
        for name in files_of(self.folder, case["id"]):  # of a failed attempt
            (self.folder / name).unlink()
        limit = min(self.limits.case_seconds, self.left())
        self.running.append(Attempt(case, self.launch(case, self.work), self.clock(), limit))

    def wait(self):
        for attempt in list(self.running):
            code = attempt.process.poll()
            seconds = self.clock() - attempt.began
            if code is None and seconds <= attempt.limit:
                continue
            self.running.remove(attempt)
            if code is None:
                attempt.process.kill()
            self.settle(attempt, code, seconds)
        self.pause(0.02)

    def settle(self, attempt, code, seconds):
        case = attempt.case
        if code is None and attempt.limit < self.limits.case_seconds:
            self.report(f"unfinished {seconds:6.1f}s {case['id']} | out of time; the next batch starts it again")
            self.forget(case)
            return
        self.slowest = max(self.slowest, seconds)
        entry = self.outcome(case, code, seconds)
        self.index.put(entry)
        self.tally[entry["outcome"]] = self.tally.get(entry["outcome"], 0) + 1
        note = "" if entry["outcome"] == "ok" else " | " + entry.get("error", "").replace("\n", " / ")
        self.report(f"{entry['outcome']:10s} {seconds:6.1f}s {case['id']}{note}")
        self.forget(case)

    def outcome(self, case, code, seconds):
        """A case with a report has ended by itself; one without died or took too long."""
        path = self.folder / f"{case['id']}.json"
        seconds = round(seconds, 2)
        if code is not None and path.exists():
            report = json.loads(path.read_text())
            return entry_of(case, report["status"], self.folder, report, seconds)
        log = self.work / f"{case['id']}.log"
        last = log.read_text(errors="replace").strip()[-300:] if log.exists() else ""
        outcome = "timeout" if code is None else "died"
        return entry_of(case, outcome, self.folder, None, seconds, last or f"exit status {code}")

    def forget(self, case):
        for path in (self.work / f"{case['id']}.log", self.work / f"{case['id']}.case.json",
                     *self.folder.glob(f".{case['id']}.*.partial")):
            path.unlink(missing_ok=True)
