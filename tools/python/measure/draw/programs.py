"""How a line of words is answered: by the program, or by its module in this process, which keeps Python with torch loaded."""

import contextlib
import dataclasses
import importlib
import os
import signal
import subprocess
import sys


class TooLongError(Exception):
    """There is no answer in time."""


@dataclasses.dataclass(frozen=True)
class Answer:
    code: int
    text: str
    messages: str = ""


@dataclasses.dataclass(frozen=True)
class Program:
    """A process for each line."""
    file: str
    environment: dict

    def answer(self, words, folder, seconds=None):
        """@raises TooLongError"""
        try:
            done = subprocess.run([self.file, *words], cwd=folder, env=self.environment, capture_output=True, text=True,
                                  timeout=seconds)
        except subprocess.TimeoutExpired:
            raise TooLongError from None
        return Answer(done.returncode, done.stdout, done.stderr)


class Module:
    """Lines of `simulate`: one Python runs the scripts of all of them, each in a fork."""

    def __init__(self, folder, environment):
        """folder: the one of the package highwater, with its native part."""
        sys.path.insert(0, folder)
        os.environ.update(environment)
        self.native = importlib.import_module("highwater._native")
        self.errors = importlib.import_module("highwater._errors")

    def answer(self, words, folder, seconds=None):
        """@raises TooLongError"""
        with within(folder, seconds or 0):
            try:
                return Answer(0, self.native.call(list(words))[0])
            except self.errors.UsageError as error:
                return Answer(2, "", str(error))
            except self.errors.InputError as error:
                return Answer(3, "", str(error))


@contextlib.contextmanager
def within(folder, seconds):
    """In that folder, for at most so many seconds; 0: however long it takes."""
    before, handler = os.getcwd(), signal.signal(signal.SIGALRM, too_long)
    os.chdir(folder)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, handler)
        os.chdir(before)


def too_long(*_):
    raise TooLongError
