"""Notices a script that waits for a value that kernels would have computed, and reports it once.

Floating-point values stay zeros on the fake device: a loop that runs until a loss falls asks for it again and again.
The symptom is one line that reads many values, for a long time, in which no optimizer makes a step.
"""
import collections
import os
import sys
import threading
import time

from . import status

_READS = 200  # fewer in one interval are normal: logging, gradient scaling, norms of parameters
_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Reads:
    """Counts the values that nobody knows by the line of the script that read them."""

    def __init__(self):
        self._counts = collections.Counter()

    def count(self):
        self._counts[_line(sys._getframe(1))] += 1

    def take(self):
        """{line: reads} since the last call."""
        taken, self._counts = self._counts, collections.Counter()
        return taken


def watch(progress, reads, options):
    """progress(): the optimizer steps taken so far."""
    threading.Thread(target=_watch, args=(progress, reads, options), daemon=True, name="highwater-record").start()


def _watch(progress, reads, options):
    before, steps = {}, progress()
    while True:
        time.sleep(options.patience)
        now, taken = progress(), reads.take()
        waiting = None if now != steps else suspect(before, taken)
        if waiting is not None:
            _tell(waiting, taken[waiting], options)
            return
        before, steps = taken, now


def suspect(before, now):
    """The line that read the most values, if it read many in both of two intervals; None without one."""
    lines = [line for line, count in now.items() if count >= _READS and before.get(line, 0) >= _READS]
    return max(lines, key=now.get, default=None)


def _tell(where, reads, options):
    status.tell(options, "waiting", reads=reads, seconds=options.patience, where=where)
    print(f"highwater record: {where} read {reads} values from the device in {options.patience:g} s, and no optimizer "
          f"made a step; what kernels would have computed is zeros here, so a loop that waits for such a value never "
          f"ends. Ctrl-C ends the recording and keeps it; --answers item=VALUE gives other values.",
          file=sys.stderr, flush=True)


def _line(frame):
    """file:line of the innermost frame outside torch, the standard library's wrappers and this package."""
    while frame is not None:
        name = frame.f_code.co_filename
        if "/torch/" not in name and not name.startswith(_OURS) and not name.endswith("/contextlib.py"):
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    return "an unknown place"
