"""Lines to and from the program that started this Python: JSON objects through the standard input, which is a socket.

Nothing else writes there, so that what a wrapper, a sitecustomize or a library prints is never taken for an answer.
"""
import json
import os
import select
import sys

_taken = None  # the descriptor, in the process that holds the conversation and in its forks


def taken():
    """The conversation; from now on the standard input is empty for everybody else."""
    global _taken
    _taken = os.dup(0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return Lines(_taken)


def leave():
    """In a fork: whose script is not to speak, nor to keep the conversation open."""
    global _taken
    if _taken is not None:
        os.close(_taken)
        _taken = None


def answer_once(answer):
    """Tells the text of (exit status, text) = answer(words of the command line), and ends the process."""
    lines = taken()
    status, text = answer(sys.argv[1:])
    lines.write(text)
    sys.exit(status)


class Lines:
    def __init__(self, descriptor):
        self._descriptor = descriptor
        self._unread = b""

    def next(self, patience):
        """The next question, or None after `patience` seconds. @raises EOFError"""
        while b"\n" not in self._unread:
            if not select.select([self._descriptor], [], [], patience)[0]:
                return None
            received = os.read(self._descriptor, 1 << 16)
            if not received:
                raise EOFError
            self._unread += received
        line, self._unread = self._unread.split(b"\n", 1)
        return json.loads(line)

    def tell(self, answer):
        """@raises ConnectionError"""
        self.write(json.dumps(answer) + "\n")

    def write(self, text):
        """@raises ConnectionError"""
        unwritten = text.encode()
        while unwritten:
            unwritten = unwritten[os.write(self._descriptor, unwritten):]
