"""Compares the peak that `highwater info` says PyTorch's viewer draws with the viewer's own sum.

    viewer_peaks.py --viewer MemoryViz.js --highwater PROGRAM SNAPSHOT...

MemoryViz.js is torch/utils/viz/MemoryViz.js of the PyTorch sources (Debian's source package pytorch
has it, its binary packages do not), with process_alloc_data.js beside it where a release has that.
Needs node. The viewer's functions run without its page: neither d3 nor a browser is needed. Exits
with 1 when a peak differs.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

os.environ["HIGHWATER_CONFIG"] = ""  # no defaults of whoever runs this

RUN = """
const bytes = require("fs").readFileSync(process.argv[2]);
const snapshot = unpickle(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
annotate_snapshot(snapshot);
const used = new Set(snapshot.segments.map(segment => segment.device));
const peaks = [];
for (const [device, trace] of snapshot.device_traces.entries()) {
  if (trace.length > 0 || used.has(device)) {
    const drawn = process_alloc_data(snapshot, device, false, 15000).max_at_time;
    peaks.push(drawn.reduce((highest, value) => Math.max(highest, value), 0));
  }
}
process.stdout.write("\\n" + JSON.stringify(peaks));
"""
PAGE = "const kinds = {"  # from here on the viewer builds its page


def functions(viewer):
    """The viewer's functions as a script: no imports, exports or page."""
    source = viewer.read_text().split(PAGE)[0]
    beside = viewer.parent / "process_alloc_data.js"
    if beside.exists():
        source = beside.read_text() + source
    source = re.sub(r"^import [^;]*;$|^export \{[^}]*\};?$", "", source, flags=re.M)
    return re.sub(r"^export ", "", source, flags=re.M)


def drawn_peaks(viewer, snapshot):
    script = functions(viewer) + RUN
    done = subprocess.run(["node", "-", str(snapshot)], input=script, check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(done.stdout.splitlines()[-1])


def named_peaks(program, snapshot):
    words = [program, "info", "--format", "json", str(snapshot)]
    report = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    return [section["viewer"]["peak_bytes"] for section in report["files"][0]["sections"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--viewer", type=pathlib.Path, required=True)
    parser.add_argument("--highwater", required=True)
    parser.add_argument("snapshots", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    differ = 0
    for snapshot in options.snapshots:
        drawn = drawn_peaks(options.viewer, snapshot)
        named = named_peaks(options.highwater, snapshot)
        differ += drawn != named
        print(f"{'same' if drawn == named else 'DIFFERS'} {snapshot.name}: drawn {drawn}, named {named}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
