"""What changes with other people's releases, as the program has it: the files of workloads/facts.

The program unpacks them beside this package; in the source tree they are where they are kept.
"""
import json
import pathlib

_HERE = pathlib.Path(__file__).resolve()


def facts(name):
    """The content of a file ("optimizers.json")."""
    unpacked = _HERE.parent / "facts" / name
    path = unpacked if unpacked.exists() else _HERE.parents[4] / "workloads" / "facts" / name
    return json.loads(path.read_text(encoding="utf-8"))
