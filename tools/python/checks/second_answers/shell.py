"""What bash makes of a launch script: the words of the program that it starts.

The script runs restricted, with a PATH of stand-ins that write down their words: nothing else can be started, no file
written.
"""

import subprocess
import tempfile
from pathlib import Path

LAUNCHERS = ("torchrun", "accelerate", "deepspeed", "python", "python3", "trl", "srun")
STAND_IN = '#!/bin/bash\nprintf "%s\\0" "${{0##*/}}" "$@" >> "{log}"\nprintf "\\n\\0" >> "{log}"\n'
SECONDS = 10


def started_words(script):
    """The words of each program that the script starts, the launcher first."""
    with tempfile.TemporaryDirectory() as folder:
        log, programs = Path(folder) / "log", Path(folder) / "bin"
        programs.mkdir()
        for name in LAUNCHERS:
            (programs / name).write_text(STAND_IN.format(log=log))
            (programs / name).chmod(0o755)
        (Path(folder) / "train.sh").write_text(script)
        try:
            subprocess.run(["/bin/bash", "-r", "train.sh"], cwd=folder, env={"PATH": str(programs), "HOME": "/home/user"}, timeout=SECONDS,
                           stdin=subprocess.DEVNULL, capture_output=True, check=False)
        except subprocess.TimeoutExpired:
            return []
        text = log.read_text(errors="replace") if log.exists() else ""
    runs = [run.split("\0")[:-1] for run in text.split("\n\0")]
    return [run for run in runs if run]


def ranks_of(words):
    """GPUs of all nodes that the launcher names; None: it does not say."""
    named = {}
    for word, value in zip(words, [*words[1:], ""]):
        name, is_joined, joined = word.lstrip("-").replace("-", "_").partition("=")
        named.setdefault(name, joined if is_joined else value)
    ranks = named.get("nproc_per_node") or named.get("num_gpus")
    nodes = named.get("nnodes", "1")
    if ranks is not None and ranks.isdigit() and nodes.isdigit():
        return int(ranks) * int(nodes)
    return int(named["num_processes"]) if named.get("num_processes", "").isdigit() else None
