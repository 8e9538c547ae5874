#!/usr/bin/env python3
"""Commands with a journal that are killed in the middle, and go on: resume_test.py TEST HIGHWATER SOURCE

TEST is one of the functions below. No MPI is needed.
"""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from mpi_test import PROGRAM, SLOW, SLOW_DRAWS, SLOW_SEARCH, SOURCE, check, check_resumed, has_begun, wait_for


def killed(words, journal):
    """Killed once its journal has a few results more than it had."""
    size = journal.stat().st_size if journal.exists() else 0
    process = subprocess.Popen([str(PROGRAM), *words, "--journal", str(journal), "--resume"], cwd=SOURCE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for("the first results", lambda: has_begun(journal) and journal.stat().st_size > size)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    check(process.returncode == -signal.SIGKILL, "it ended before it was killed: not a test")


def go_on(words):
    """Killed twice, and torn in its last record the second time."""
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "journal"
        killed(words, journal)
        killed(words, journal)
        os.truncate(journal, journal.stat().st_size - 1)
        check_resumed(words, journal, [str(PROGRAM), *words, "--journal", str(journal), "--resume"])


def pieces():
    go_on(SLOW)


def search():
    go_on(SLOW_SEARCH)


def draws():
    go_on(SLOW_DRAWS)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
