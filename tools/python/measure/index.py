"""index.json of a folder of recordings: one entry for each case that has ended, however it ended."""

import json
from pathlib import Path

from . import halves
from .case_run import write_atomically

NAME = "index.json"
SCHEMA = "highwater.recorded-index/1"
FIGURES = ("allocated", "active", "reserved")
FINISHED = ("ok", "oom")  # outcomes with a useful recording


def part_of(case):
    """The part of the matrix: "b" of the tag "part-b"."""
    tags = [tag for tag in case.get("tags") or () if tag.startswith("part-")]
    return tags[0].removeprefix("part-") if tags else None


def outside_of(marker):
    """Bytes that the driver counts beyond the allocator's, None if it was not queried."""
    if "device_used" not in marker:
        return None
    return marker["device_used"] - marker["stats"].get("reserved_bytes.all.current", 0)


def peaks_of(report):
    """The highest of the completed steps, or of the whole run if there are none; bytes."""
    markers = [marker for marker in report["markers"] if "stats" in marker and not marker.get("after_snapshot")]
    markers = [marker for marker in markers if marker["phase"] == "step_end"] or markers
    peaks = {figure: max((m["stats"].get(f"{figure}_bytes.all.peak", 0) for m in markers), default=0)
             for figure in FIGURES}
    outside = [value for value in map(outside_of, markers) if value is not None]
    return {**peaks, "outside": max(outside, default=None)}


def files_of(folder, case_id):
    """Name and size in bytes of what was written for a case."""
    paths = (Path(folder) / f"{case_id}{ending}" for ending in (".json", ".json.xz", ".pickle.xz", ".hwt.xz"))
    return {path.name: path.stat().st_size for path in paths if path.exists()}


def entry_of(case, outcome, folder, report=None, process_seconds=None, error=""):
    """case: as it is listed, without defaults."""
    entry = {"id": case["id"], "part": part_of(case), "half": halves.half_of(case), "outcome": outcome,
             "process_seconds": process_seconds, "files": files_of(folder, case["id"])}
    if report:
        entry["seconds"] = report.get("seconds")
        entry["entries"] = report.get("trace", {}).get("entries")
        entry["peaks"] = peaks_of(report)
        error = (report.get("error") or "").strip()[-300:]
    if error:
        entry["error"] = error
    return entry


class Index:
    """Entries by id, in the order in which they came; written after each change."""

    def __init__(self, folder):
        self.path = Path(folder) / NAME
        self.about = {}
        self.entries = {}
        if self.path.exists():
            document = json.loads(self.path.read_text())
            self.about = document["about"]
            self.entries = {entry["id"]: entry for entry in document["cases"]}

    def put(self, entry):
        self.entries[entry["id"]] = entry
        self.write()

    def write(self):
        document = {"schema": SCHEMA, "held_out": halves.RULE, "about": self.about,
                    "cases": list(self.entries.values())}
        text = json.dumps(document, indent=1) + "\n"
        write_atomically(self.path, lambda partial: partial.write_text(text))

    def adopt(self, cases):
        """Adds entries for recordings that an interrupted run left without one."""
        for case in cases:
            path = self.path.parent / f"{case['id']}.json"
            if case["id"] not in self.entries and path.exists():
                report = json.loads(path.read_text())
                self.put(entry_of(case, report["status"], self.path.parent, report))

    def is_done(self, case_id, retries_failed):
        """A failed case is not rerun unless requested: it would take the same time to fail."""
        entry = self.entries.get(case_id)
        return entry is not None and (entry["outcome"] in FINISHED or not retries_failed)
