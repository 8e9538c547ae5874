"""What --from makes of published configurations: keys by fate, simulated or refused.

    published_configurations.py HIGHWATER FOLDER [--program NAME] [--only-keys] [--jobs N]

FOLDER holds the repositories of published_configurations.tsv, as FOLDER/OWNER/NAME, which are not
part of this project; a row whose file is not there is left out. "README.md#2" is the second launch
line in a document. One step is simulated; --only-keys stops at the plan.

Printed are one line for each configuration, the reasons for refusals with how often each was given,
the keys that leave verdicts unknown with how many each, and a table by program: simulated, refused by
one sentence, refused by several, failed (a crash, or no answer in time).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

os.environ["HIGHWATER_CONFIG"] = ""  # no defaults of whoever runs this

LIST = Path(__file__).with_suffix(".tsv")
LAUNCH = re.compile(r"^\s*(?:[A-Z_]+=\S+ +)*(?:accelerate launch|torchrun|deepspeed|python3?|trl|CUDA_VISIBLE)\b")
# Files that say how a model is spread, not which: they are tried with a small one.
WITHOUT_MODEL = {"accelerate", "deepspeed"}
# Files that spread a model over GPUs without saying how many.
RANKS = 8
# What a verdict is about where a file names no GPU.
GPU = "h100-80"
SECONDS = 120
# Exit codes of a refusal: a plan or a command line that is wrong, and a file that cannot be read.
REFUSALS = {2, 3}
ANSWERS = ("good", "one sentence", "several", "failed")
VERDICTS = {True: "fits", False: "does not fit", None: "not known"}
LITTLE = "changes memory little"


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
    answer: str = ""  # one of ANSWERS
    sentences: list[str] = field(default_factory=list)
    verdict: str = ""  # one of VERDICTS
    turning: list[str] = field(default_factory=list)  # keys that leave the verdict unknown, with their effect


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


def run(command: list[str], folder: Path) -> tuple[int | None, str, str]:
    """Without a code where it did not end in time."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return None, "", f"no answer in {SECONDS} s"
    return done.returncode, done.stdout, done.stderr


def sentences_of(error: str, path: Path, row: Row) -> list[str]:
    """What stands on the lines of standard error, with the file's name in the list for its path."""
    lines = [line.removeprefix("highwater: ") for line in error.strip().splitlines()]
    return [line.replace(str(path), row.path) for line in lines if not line.startswith("note: ")]


def answer_of(code: int | None, sentences: list[str]) -> str:
    if code == 0:
        return "good"
    if code not in REFUSALS or not sentences:
        return "failed"
    return "one sentence" if len(sentences) == 1 else "several"


def note_verdict(result: Result, answer: dict) -> None:
    """Whether the run fits, and the keys without which it does and with which nobody knows."""
    result.verdict = VERDICTS[answer["fits"]]
    if answer["fits"] is None:
        other = "saves memory" if answer["verdict"].startswith("FITS") else "adds memory"
        result.turning = [f"{key['key']} ({key['effect']})" for key in answer["left_out"]
                          if key["effect"] not in (other, LITTLE)]


def tried(row: Row, options: argparse.Namespace, scratch: Path) -> Result | None:
    path = configuration(row, options.folder, scratch)
    if path is None:
        return None
    folder = options.folder / row.repository
    command = [str(options.highwater), "simulate", "--from", str(path)]
    if row.program in WITHOUT_MODEL and not path.name.endswith(".sh"):
        command += ["--model", "llama-3.2-1b"]
    code, table, error = run([*command, "--print-options"], folder)
    line = table.partition("\n")[0]
    if "--dp-kind" in table and "--dp " not in line:
        command += ["--dp", str(RANKS)]
    if "--gpu " not in line:
        command += ["--gpu", GPU]
    if code == 0 and not options.only_keys:
        code, answer, error = run([*command, "--steps", "1", "--format", "json"], folder)
    sentences = sentences_of(error, path, row) if code != 0 else []
    if code is not None and code != 0 and not sentences:
        sentences = [f"ends with {code}"]
    result = Result(row, fates(table), answer_of(code, sentences), sentences)
    if code == 0 and not options.only_keys:
        note_verdict(result, json.loads(answer))
    return result


def show_rows(results: list[Result], good: str) -> None:
    print("program\tused\tno effect\tnot supported\tunknown\tconfiguration\tanswer\tsentences")
    for result in results:
        counts = [result.fates[name] for name in ("used", "no effect", "not supported", "unknown")]
        numbers = "\t".join(str(count) for count in counts)
        answer = good if result.answer == "good" else result.answer
        print(f"{result.row.program}\t{numbers}\t{result.row.repository}/{result.row.path}", end="")
        print(f"\t{answer}\t{' | '.join(result.sentences)}")


def reason(sentence: str, row: Row) -> str:
    """The sentence without the file that it is about, so that equal ones are counted together."""
    return sentence.removeprefix(f"{row.path}: ")


def show_reasons(results: list[Result]) -> None:
    reasons = Counter(reason(line, result.row) for result in results for line in result.sentences)
    print("\nReasons")
    for text, count in reasons.most_common():
        print(f"{count:5}  {text}")


def show_verdicts(results: list[Result]) -> None:
    verdicts = Counter(result.verdict for result in results if result.verdict)
    print("\nVerdicts: " + ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common()))
    for text, count in Counter(key for result in results for key in result.turning).most_common():
        print(f"{count:5}  {text}")


def show_programs(results: list[Result], good: str) -> None:
    programs = list(dict.fromkeys(result.row.program for result in results))
    heads = (good, *ANSWERS[1:])
    print(f"\n{'program':20}{'all':>5}" + "".join(f"{head:>14}" for head in heads))
    for program in [*programs, None]:
        own = [result for result in results if program in (None, result.row.program)]
        counts = Counter(result.answer for result in own)
        numbers = "".join(f"{counts[answer]:14}" for answer in ANSWERS)
        print(f"{program or 'all':20}{len(own):5}{numbers}")
    unknown = sum(result.fates["unknown"] > 0 for result in results)
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
    good = "a plan" if options.only_keys else "simulated"
    show_rows(results, good)
    show_reasons(results)
    if not options.only_keys:
        show_verdicts(results)
    show_programs(results, good)
    return 0 if results else 1


if __name__ == "__main__":
    sys.exit(main())
