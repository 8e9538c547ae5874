"""What the end of a recording is busy with, on standard error and only where a person looks at it.

Millions of entries take a minute to collect and write, after the script's last line or after Ctrl-C.
"""
import sys
import time

_ERASE = "\r\x1b[K"
_PAUSE = 0.25


class Progress:
    """One line, overwritten in place; `with` removes it at the end."""

    def __init__(self, stream=None, clock=time.monotonic):
        stream = stream or sys.__stderr__  # a script may have put something else in place of sys.stderr
        self._stream = stream if _is_terminal(stream) else None
        self._clock = clock
        self._next = clock()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._show("")

    def tell(self, text):
        self._show(f"highwater record: {text}")
        self._next = self._clock() + _PAUSE

    def tell_sometimes(self, text):
        """As tell(), for texts that come faster than they can be read."""
        if self._clock() >= self._next:
            self.tell(text)

    def _show(self, text):
        if self._stream is None:
            return
        try:
            self._stream.write(_ERASE + text)
            self._stream.flush()
        except (OSError, ValueError):  # the terminal is gone or closed; the snapshot matters more
            self._stream = None


class CountedFile:
    """A file that tells how much was written to it."""

    def __init__(self, file, progress, text):
        self._file = file
        self._progress = progress
        self._text = text
        self._written = 0

    def write(self, data):
        self._written += len(data)
        self._progress.tell_sometimes(f"{self._text}, {self._written / 1e6:.0f} MB")
        return self._file.write(data)


def _is_terminal(stream):
    try:
        return stream.isatty()
    except (AttributeError, ValueError):  # there is none; closed
        return False
