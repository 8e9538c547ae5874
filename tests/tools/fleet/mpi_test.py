#!/usr/bin/env python3
"""The program under mpirun: mpi_test.py TEST HIGHWATER SOURCE

TEST is one of the functions below. Exits with 77, which ctest calls skipped, where there is no mpirun or the program
was built without MPI.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from shutil import which

SKIPPED = 77
PROGRAM, SOURCE = Path(sys.argv[2]).resolve(), Path(sys.argv[3])
COMMANDS = [
    "scan traces/recorded/zero3-ds19 --format json",
    "scan traces/recorded/fake",
    "sweep --model gpt2 --seq 64 --gpu 3GiB --set batch=1,2,64 --set expandable_segments=False,True --format jsonl",
    "sweep --model gpt2 --seq 64 --gpu 3GiB --set batch=1,2,64 --set expandable_segments=False,True --top 2",
    "validate --recorded traces/recorded/zero3-ds19 --format csv",
    "validate --only model=gpt2 --format json",
    "simulate --model gpt2 --batch 2 --seq 128 --dp 2 --pp 2 --dp-kind ddp --rank all --format json",
    "simulate --model gpt2 --seq 128 --dp 2 --dp-kind fsdp2 --gpu 12GiB --rank all --find-batch",
    "plan --model gpt2 --seq 128 --gpu 8GiB --gpus 2 --global-batch 8 --rows 3 --format json",
    "plan --model gpt2 --seq 128 --gpu 1200MiB --gpus 2 --global-batch 4 --only DDP --allow full",
    "chance --model gpt2 --batch 2 --lengths uniform:16..64 --runs 5 --steps 3 --set batch=1,2 --format json",
    "simulate --model gpt2 --lengths uniform:16..64 --runs 4 --steps 3",
]


def mpirun(ranks, words):
    return ["mpirun", "--oversubscribe", "--allow-run-as-root", "-n", str(ranks), str(PROGRAM), *words]


def run(command, **keywords):
    return subprocess.run(command, cwd=SOURCE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=200, **keywords)


def check(condition, *what):
    if not condition:
        sys.exit(" ".join(str(each) for each in what))


def workers():
    """The processes of this test's program, but rank 0."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes().split(b"\0")
            if Path(os.readlink(folder / "exe")) != PROGRAM or f"FLEET_TEST={os.getpid()}".encode() not in environment:
                continue
            found += [int(folder.name)] if b"OMPI_COMM_WORLD_RANK=0" not in environment else []
        except OSError:
            pass
    return found


def wait_for(what, found, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        result = found()
        if result:
            return result
        time.sleep(0.01)
    return sys.exit(f"waited in vain for {what}")


def same_bytes():
    """1, 2, 4 and 7 processes print what one does without mpirun."""
    for line in COMMANDS:
        words = line.split()
        alone = run([str(PROGRAM), *words])
        check(alone.returncode == 0 and alone.stdout, line, alone.stderr)
        for ranks in (1, 2, 4, 7):
            several = run(mpirun(ranks, words))
            check(several.returncode == 0, line, ranks, several.stderr)
            check(several.stdout == alone.stdout, line, "differs with", ranks, "processes")


def errors():
    """What is wrong is said once, with the exit code of one process."""
    for line, code, said in (("scan", 2, b"exactly one FOLDER"), ("scan /nowhere", 3, b"/nowhere: does not exist")):
        several = run(mpirun(3, line.split()))
        check(several.returncode == code, line, several.returncode, several.stderr)
        check(several.stderr.count(said) == 1 and not several.stdout, line, several.stderr)


SLOW = "validate --only model=llama --format json".split()
# Pieces that depend on those before them, and pieces that are alike.
SLOW_SEARCH = "plan --model llama-160m --seq 256 --gpu 6GiB --gpus 4 --global-batch 64 --format json".split()
SLOW_DRAWS = "chance --model gpt2 --lengths uniform:16..900 --runs 60 --steps 40 --format json".split()


def begun(words, folder, environment=None):
    """A job of three ranks, and its journal once it has a few results."""
    journal = Path(folder) / "journal"
    environment = dict(os.environ, FLEET_TEST=str(os.getpid()))
    job = subprocess.Popen(mpirun(3, [*words, "--journal", str(journal)]), cwd=SOURCE, env=environment,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for("the first results", lambda: has_begun(journal))
    return job, journal


def has_begun(journal):
    """Whether it holds a few results."""
    content = journal.read_bytes() if journal.exists() else b""
    return b"\n" in content and len(record_numbers(content)) >= 3


def ended(job):
    """What a job printed that ended because of one of its ranks.

    Open MPI 4.1.4's mpirun sometimes crashes or hangs in PMIx_server_finalize() when it has to kill ranks, after it
    has passed on the output: such a job is ended here, and its exit code says nothing.
    """
    try:
        return job.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        job.kill()
        return job.communicate()


def stall():
    """A rank that stops has its pieces carried out by another, and the report says so.

    Long messages of a rank are announced first. All are long here, so that it stops between the two.
    """
    alone = run([str(PROGRAM), *SLOW])
    os.environ |= {"OMPI_MCA_btl_vader_eager_limit": "256", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
    with tempfile.TemporaryDirectory() as folder:
        job, _ = begun([*SLOW, "--stall-after", "1"], folder)
        os.kill(workers()[0], signal.SIGSTOP)
        out, err = ended(job)
        check(out == alone.stdout, "other bytes", err)
        check(b"stalled: no result for" in err, err)
        check(job.returncode in (0, -signal.SIGSEGV, -signal.SIGKILL), job.returncode, err)


def resume():
    """A rank that dies ends the job; what was finished is kept, and not carried out again."""
    for words in (SLOW, SLOW_SEARCH):
        with tempfile.TemporaryDirectory() as folder:
            job, journal = begun(words, folder)
            os.kill(workers()[0], signal.SIGKILL)
            out, _ = ended(job)
            check(job.returncode != 0, "the job should have ended early", out)
            check_resumed(words, journal, mpirun(4, [*words, "--journal", str(journal), "--resume"]))


def check_resumed(words, journal, command):
    """`command` goes on from a journal that a crash left, and carries out nothing that is there."""
    before = record_numbers(journal.read_bytes())
    alone = run([str(PROGRAM), *words])
    resumed = run(command)
    check(resumed.returncode == 0 and resumed.stdout == alone.stdout, words, resumed.stderr)
    numbers = record_numbers(journal.read_bytes())
    check(numbers[:len(before)] == before, "what was finished has changed")
    check(len(numbers) == len(set(numbers)), "a finished piece was carried out again")
    check(len(before) < len(numbers), "nothing was left to do: not a test")
    again = run([str(PROGRAM), *words, "--journal", str(journal), "--resume"])
    check(again.stdout == alone.stdout and record_numbers(journal.read_bytes()) == numbers, "not all was kept")


def record_numbers(journal):
    """The pieces in a journal, in the order in which they were finished (tools/fleet/piece_file.hpp)."""
    numbers, at = [], journal.index(b"\n") + 1
    while at + 24 <= len(journal):
        length = int.from_bytes(journal[at + 4:at + 8], "little")
        if at + 24 + length <= len(journal):
            numbers.append((journal[at:at + 4], int.from_bytes(journal[at + 8:at + 16], "little")))
        at += 24 + length
    return numbers


if __name__ == "__main__":
    if which("mpirun") is None or not (PROGRAM.parent / "libhighwater_mpi.so").exists():
        print("skipped: no mpirun, or built without MPI")
        sys.exit(SKIPPED)
    globals()[sys.argv[1]]()
