"""Reports what happened to the waiting command: one JSON object per line, appended, so that a crash loses nothing."""
import contextlib
import json
import os


def tell(options, event, **facts):
    """event: "refused", "loaded", "started", "written", "nothing", "waiting"; facts: JSON values."""
    line = json.dumps({"event": event, "process": os.getpid(), **facts})
    # Without its folder the command has ended, and this process outlived it: a worker that compiles.
    with contextlib.suppress(FileNotFoundError):
        descriptor = os.open(options.status_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, (line + "\n").encode())
        finally:
            os.close(descriptor)
