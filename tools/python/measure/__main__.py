"""python3 tools/python/measure COMMAND, or python3 -m measure COMMAND in tools/python: see command.py."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[0] = str(HERE.parent)  # the folder itself is there when it is run: its modules belong to the package

from measure import command  # noqa: E402

if __name__ == "__main__":
    sys.exit(command.main())
