"""The program from Python: `python -m highwater explain FILE`, and the command highwater-gpu, which uvx and pipx run
under the name of the distribution.
"""

from __future__ import annotations

import os
import shutil
import sys
from importlib import metadata

DISTRIBUTION = "highwater-gpu"


def program() -> str | None:
    """Where the program is: installed with this module, else on the PATH."""
    try:
        installed = metadata.files(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        installed = []
    for file in installed:
        if file.name == "highwater":
            path = str(file.locate())
            if os.access(path, os.X_OK):
                return path
    return shutil.which("highwater")


def main() -> None:
    """Becomes the program, with the arguments of this process."""
    path = program()
    if path is None:
        sys.exit(
            "highwater: the program is not installed beside its Python module; install both again "
            f"(pip install --force-reinstall {DISTRIBUTION}), or put highwater on the PATH"
        )
    os.execv(path, ["highwater", *sys.argv[1:]])


if __name__ == "__main__":
    main()
