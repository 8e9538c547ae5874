"""Notices a script that waits for a value that kernels would have computed, and reports it once.

Nothing computes on the fake device: a loss stays 0 forever. A loop that runs until a value changes asks for it again and
again. The symptom is many values read, and no optimizer step, for a long time.
"""
import sys
import threading
import time
import traceback

from . import status

_READS = 200  # fewer are normal: logging, gradient scaling, checks of masks


def watch(recorder, control, options):
    threading.Thread(target=_watch, args=(recorder, control, options, threading.get_ident()), daemon=True,
                     name="highwater-record").start()


def _watch(recorder, control, options, main):
    seen = (recorder.progress(), control.fakecuda_reads())
    while True:
        time.sleep(options.patience)
        now = (recorder.progress(), control.fakecuda_reads())
        if now[0] == seen[0] and now[1] - seen[1] >= _READS:
            where = _where(main)
            status.tell(options, "waiting", reads=now[1] - seen[1], seconds=options.patience, where=where)
            print(f"highwater record: the script read {now[1] - seen[1]} values from the device in "
                  f"{options.patience:g} s and made no optimizer step; on the fake device they are zeros, so a loop "
                  f"that waits for one never ends. It is at {where}. Ctrl-C ends the recording and keeps it; "
                  f"--answers item=VALUE gives other values.", file=sys.stderr, flush=True)
            return
        seen = now


def _where(thread):
    """file:line of the innermost frame outside torch."""
    frame = sys._current_frames().get(thread)
    stack = traceback.extract_stack(frame) if frame else []
    for entry in reversed(stack):
        if "/torch/" not in entry.filename:
            return f"{entry.filename}:{entry.lineno}"
    return "an unknown place"
