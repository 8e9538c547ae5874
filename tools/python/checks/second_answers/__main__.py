"""python3 tools/python/checks/second_answers: what drawn files mean, by their program's own parser and by --from."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from second_answers.command import main
    sys.exit(main(sys.argv[1:]))
