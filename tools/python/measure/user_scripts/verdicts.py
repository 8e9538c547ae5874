"""What an answer about a script is worth: by the worse error of allocated and reserved, and by what it says of itself."""

import re
import shlex

from ..case_fields import CaseError
from ..draw.results import FIGURES, peaks_of, recorded_peak
from ..draw.table import percent

EXACT, NEAR = 0.001, 0.01
TYPED = re.compile(r"^# typed: (.*)$", re.MULTILINE)
TASK = re.compile(r"^# task: (.*)$", re.MULTILINE)
RIGHT = ("exact", "near", "both", "replayed")
KINDS = {
    "exact": "within 0.1 %",
    "near": "within 1 %",
    "both": "both spellings named, one of them within 1 %",
    "replayed": "the recorded run itself, for which alone it holds",
    "told": "off, and said so",
    "off": "off without a word",
    "refused": "refused",
    "late": "no answer within the time for one",
    "error": "not recorded",
}


def typed_words(script):
    """@raises CaseError"""
    line = TYPED.search(script.read_text())
    if line is None:
        raise CaseError(f"{script}: has no line '# typed: --model ...'")
    return [word.replace("{script}", str(script.resolve())) for word in shlex.split(line.group(1))]


def task_of(script):
    """What a script is for; empty where it does not say."""
    said = TASK.search(script.read_text())
    return said.group(1) if said else ""


def program_of(script):
    """Its text without what is only said about it."""
    return "".join(line for line in script.read_text().splitlines(keepends=True) if not (TYPED.match(line) or TASK.match(line)))


def answer_of(report):
    """The parts of a `simulate` answer that say how true it is."""
    if "devices" in report:  # the recording, replayed
        return {"peak": peaks_of(recorded_peak(report)), "replayed": True}
    check = report.get("recording")
    return {"peak": peaks_of(report["peak"]), "told": "assumed" in report or (check is not None and not check["is_explained"]),
            "spellings": [peaks_of(each["peak"]) for each in report.get("spellings") or ()]}


def is_open(answer):
    """Whether it is to be asked for: it never was, or took too long."""
    return answer is None or "late" in answer


def errors(peak, recorded):
    return [peak[figure] / recorded[figure] - 1 for figure in FIGURES]


def worst(peak, recorded):
    return max(map(abs, errors(peak, recorded)))


def kind_of(result, name):
    """One of KINDS. name: "from" or "typed"."""
    if "recorded" not in result:
        return "error"
    answer = result[name]
    missing = next((word for word in ("refused", "late") if word in answer), None)
    if missing:
        return missing
    error = worst(answer["peak"], result["recorded"])
    if answer.get("replayed"):
        return "replayed" if error <= EXACT else "off"
    if error <= NEAR:
        return "exact" if error <= EXACT else "near"
    if answer["told"]:
        return "told"
    is_named = any(worst(peak, result["recorded"]) <= NEAR for peak in answer["spellings"])
    return "both" if is_named else "off"


def summary_rows(results):
    counts = {name: [kind_of(result, name) for result in results] for name in ("from", "typed")}
    return [["", "--from its recording", "typed first"]] + [
        [f"{kind} ({means})", *(str(counts[name].count(kind)) for name in ("from", "typed"))]
        for kind, means in KINDS.items() if any(kind in kinds for kinds in counts.values())]


def task_rows(results):
    """How many of each task are right, of those that were recorded."""
    tasks = sorted({result["task"] for result in results})
    rows = [["task", "scripts", "--from right", "typed right"]]
    for task in tasks:
        recorded = [result for result in results if result["task"] == task and "recorded" in result]
        right = [sum(kind_of(result, name) in RIGHT for result in recorded) for name in ("from", "typed")]
        rows.append([task or "(none said)", *map(str, (len(recorded), *right))])
    return rows


def cell(result, name):
    answer = result.get(name, {})
    if "peak" not in answer:
        return answer.get("refused") or answer.get("late") or result.get("error", "")
    return " / ".join(percent(error) for error in errors(answer["peak"], result["recorded"]))


def script_rows(results):
    return [["script", "--from", "allocated / reserved", "typed", "allocated / reserved"]] + [
        [result["name"], kind_of(result, "from"), cell(result, "from"), kind_of(result, "typed"), cell(result, "typed")]
        for result in results]
