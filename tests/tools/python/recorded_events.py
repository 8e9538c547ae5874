"""What tests share that record training and compare its history event for event."""
import argparse
import os
import pathlib
import pickle
import sys

PACKAGE = pathlib.Path(__file__).resolve().parents[3] / "tools" / "python" / "recorder"
SKIPPED = 4  # exit status


def parser(description):
    """Of the arguments that all of them have."""
    result = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument("libraries", type=pathlib.Path)
    result.add_argument("--python", default=os.environ.get("HIGHWATER_TORCH_PYTHON") or sys.executable)
    return result


def environment(libraries, folder):
    """The recorder's part of the environment of a script that runs in `folder`."""
    return {
        "PYTHONPATH": str(PACKAGE), "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1", "HIGHWATER_RECORD_STATUS": str(folder / "status"), "HIGHWATER_RECORD_STACKS": "none",
        "HIGHWATER_RECORD_OUTPUT": str(folder / "run.pickle"), "HIGHWATER_RECORD_LIBRARIES": str(libraries),
    }


def recorded(case, run, folder):
    """The snapshot that the script left in `folder`."""
    snapshot = folder / "run.pickle"
    if not snapshot.exists():
        raise RuntimeError(f"{case}: exit status {run.returncode}, no snapshot\n{run.stderr[-2000:]}")
    with open(snapshot, "rb") as file:
        return pickle.load(file)


def events(snapshot):
    """(action, size, stream, address) of each entry, as far as they can be equal in two processes."""
    streams = {}
    first = None
    for entry in max(snapshot["device_traces"], key=len, default=[]):
        address = entry.get("addr")
        if first is None and address is not None:
            first = address
        yield (entry["action"], entry["size"], streams.setdefault(entry["stream"], len(streams)),
               None if address is None else address - first)


def frees_sorted(sequence):
    """With each run of frees between other events in the order of addresses."""
    result, run = [], []
    for event in sequence:
        if event[0] in ("free_requested", "free_completed"):
            run.append(event)
        else:
            result += sorted(run, key=lambda free: (free[3], free[0])) + [event]
            run = []
    return result + sorted(run, key=lambda free: (free[3], free[0]))


def difference(expected, found):
    """Of two lists: None or the first place where they are not equal; what follows the end of `expected` is no
    difference, the recording goes on until the script ends."""
    for place, event in enumerate(expected):
        if place >= len(found) or found[place] != event:
            return f"event {place} of {len(expected)}: {event} was recorded, here it is " \
                   f"{found[place] if place < len(found) else 'the end'}"
    return None


def compare_all(cases, compare):
    """Prints how each case ends, and returns the exit status. compare(case): the first difference, or None, and the
    number of events."""
    failed = 0
    for case in cases:
        try:
            found, count = compare(case)
        except RuntimeError as error:
            found, count = str(error), 0
        failed += found is not None
        print(f"{case}: {found or f'{count} events identical'}", flush=True)
    return 1 if failed else 0
