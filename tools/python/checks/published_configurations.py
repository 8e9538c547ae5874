"""What --from makes of published configurations: keys by fate, simulated or refused.

    published_configurations.py HIGHWATER FOLDER [--program NAME] [--only-keys] [--jobs N]

FOLDER holds the repositories of published_configurations.tsv, as FOLDER/OWNER/NAME, which are not
part of this project; a row whose file is not there is left out. "README.md#2" is the second launch
line in a document. One step is simulated; --only-keys stops at the plan.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

LIST = Path(__file__).with_suffix(".tsv")
LAUNCH = re.compile(r"^\s*(?:[A-Z_]+=\S+ +)*(?:accelerate launch|torchrun|deepspeed|python3?|trl|CUDA_VISIBLE)\b")
# Files that say how a model is spread, not which: they are tried with a small one.
WITHOUT_MODEL = {"accelerate", "deepspeed"}
# Files that spread a model over GPUs without saying how many.
RANKS = 8
SECONDS = 120


@dataclass
class Row:
    program: str
    repository: str
    commit: str
    path: str


@dataclass
class Result:
    row: Row
    fates: Counter[str] = field(default_factory=Counter)
    outcome: str = ""


def rows(program: str | None) -> list[Row]:
    lines = LIST.read_text().splitlines()
    found = [Row(*line.split("\t")) for line in lines if line and not line.startswith("#")]
    return [row for row in found if program in (None, row.program)]


def launch_lines(text: str) -> list[str]:
    """Launch lines of a document, each with the lines that it goes on to."""
    found: list[str] = []
    lines: list[str] = []
    for line in text.split("\n"):
        if lines or LAUNCH.match(line):
            lines.append(line)
            if not line.rstrip().endswith("\\"):
                found.append("\n".join(lines) + "\n")
                lines = []
    return [line for line in found if "--" in line]


def assignments(text: str, line: str) -> str:
    before = text[: text.find(line.strip())].split("\n")
    return "".join(part + "\n" for part in before if re.match(r"[A-Z_]+=", part))


def configuration(row: Row, folder: Path, scratch: Path) -> Path | None:
    name, _, number = row.path.partition("#")
    path = folder / row.repository / name
    if not path.is_file():
        return None
    if not number:
        return path
    text = path.read_text()
    lines = launch_lines(text)
    if int(number) > len(lines):
        return None
    line = lines[int(number) - 1]
    part = scratch / re.sub(r"\W", "_", f"{row.repository}_{row.path}")
    script = part.with_suffix(".sh")
    script.write_text((assignments(text, line) if name.endswith(".sh") else "") + line)
    return script


def fates(table: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for line in table.splitlines()[1:]:
        if " that this program knows" in line:
            counts["unknown"] += 1
        elif re.search(r"\s{2}no effect\s", line):
            counts["no effect"] += 1
        elif re.search(r"\s{2}not supported\s", line):
            counts["not supported"] += 1
        elif re.search(r"\s{2}--\w", line):
            counts["used"] += 1
    return counts


def run(command: list[str], folder: Path) -> tuple[int, str, str]:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return 0, "", ""
    return done.returncode, done.stdout, done.stderr


def good_outcome(options: argparse.Namespace) -> str:
    return "a plan" if options.only_keys else "simulated"


def tried(row: Row, options: argparse.Namespace, scratch: Path) -> Result | None:
    path = configuration(row, options.folder, scratch)
    if path is None:
        return None
    folder = options.folder / row.repository
    command = [str(options.highwater), "simulate", "--from", str(path)]
    if row.program in WITHOUT_MODEL and not path.name.endswith(".sh"):
        command += ["--model", "llama-3.2-1b"]
    code, table, error = run([*command, "--print-options"], folder)
    result = Result(row, fates(table))
    line = table.partition("\n")[0]
    if "--dp-kind" in line and "--dp " not in line:
        command += ["--dp", str(RANKS)]
    if code == 0 and not options.only_keys:
        code, _, error = run([*command, "--steps", "1", "--format", "json"], folder)
    said = error.strip().splitlines()
    refusal = said[0].replace(str(path), row.path) if said else f"ends with {code}"
    result.outcome = good_outcome(options) if code == 0 else refusal
    return result


def show(results: list[Result], good: str) -> None:
    print("program\tused\tno effect\tnot supported\tunknown\tconfiguration\toutcome")
    for result in results:
        counts = [result.fates[name] for name in ("used", "no effect", "not supported", "unknown")]
        numbers = "\t".join(str(count) for count in counts)
        print(f"{result.row.program}\t{numbers}\t{result.row.repository}/{result.row.path}", end="")
        print(f"\t{result.outcome}")
    refused = sum(result.outcome != good for result in results)
    unknown = sum(result.fates["unknown"] > 0 for result in results)
    print(f"{len(results)} configurations: {len(results) - refused} {good}, {refused} refused,")
    print(f"{unknown} with a key that no rule knows")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("highwater", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--program")
    parser.add_argument("--only-keys", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    options.highwater = options.highwater.resolve()
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(options.jobs) as pool:
        found = pool.map(lambda row: tried(row, options, Path(scratch)), rows(options.program))
        results = [result for result in found if result is not None]
    show(results, good_outcome(options))
    return 0 if results else 1


if __name__ == "__main__":
    sys.exit(main())
