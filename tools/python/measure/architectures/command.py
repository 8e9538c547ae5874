"""`measure architectures`: draws, asks --engine auto, records the scripts that it ran, prints the table."""
import sys
import time
from pathlib import Path

from ..draw.command import found_program
from ..draw.results import Runner
from ..draw.table import as_markdown, as_text
from . import runs


def add_options(parser):
    parser.add_argument("--seed", required=True, help="any word; the same one draws the same architectures")
    parser.add_argument("--count", type=int, default=100, metavar="N", help="how many (default: %(default)s)")
    parser.add_argument("--list", metavar="FILE", help="a list that was drawn, or where a new one goes "
                                                       "(default: architectures.json in --out)")
    parser.add_argument("--decoders", action="store_true",
                        help="only text decoders, each by the model and by PyTorch, with all requests compared")
    parser.add_argument("--options", default="", metavar="WORDS",
                        help="with --decoders: further options of simulate ('--seq 128 --precision bf16 --checkpoint full')")
    parser.add_argument("--only", metavar="NAME,...", help="only these of those drawn")
    parser.add_argument("--out", default="architectures", help="folder of the results (default: %(default)s)")
    parser.add_argument("--highwater", default="highwater", metavar="FILE", help="the program (default: on the PATH)")
    parser.add_argument("--python", default=sys.executable, metavar="FILE",
                        help="the Python with PyTorch and transformers (default: this one)")
    parser.add_argument("--minutes", type=float, metavar="M", help="begin no architecture after M minutes")
    parser.add_argument("--format", choices=("text", "markdown"), default="text")


def run(options):
    """@raises CaseError"""
    Path(options.out).mkdir(parents=True, exist_ok=True)
    python = str(Path(options.python).absolute())
    runner = Runner(found_program(options.highwater), python)
    path = Path(options.list) if options.list else Path(options.out) / "architectures.json"
    kinds = ["decoders"] if options.decoders else []
    drawn = runs.draw(runner, python, options.seed, options.count, path, kinds)["drawn"]
    chosen = [case for case in drawn if not options.only or runs.name_of(case) in options.only.split(",")]
    ends = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")
    results = []
    for case in chosen:
        if time.monotonic() > ends:
            print(f"{len(results)} of {len(chosen)} architectures; the same command goes on", file=sys.stderr)
            break
        results.append(result_of(case, options, runner, python))
        print(f"{results[-1]['seconds']:6.1f} s  {runs.name_of(case)}: {outcome(results[-1])}", file=sys.stderr, flush=True)
    print(report(results, options.format))
    return 0


def result_of(case, options, runner, python):
    if options.decoders:
        return runs.by_both_engines(case, options.out, runner, python, options.options.split())
    answer = runs.answer_of(case, options.out, runner, python)
    return runs.with_recording(answer, options.out, runner, python)


def by_both(result):
    """Of a decoder: the model's peaks beside PyTorch's."""
    if "gap" in result:
        return f"by PyTorch: {result['gap']}"
    different = [figure for figure in runs.FIGURES if result["model"][figure] != result["torch"][figure]]
    return "the model differs: " + ", ".join(
        f"{figure} {result['model'][figure]} / {result['torch'][figure]}" for figure in different) if different \
        else f"by the model, exact: {result['requests']}"


def outcome(result):
    if "refused" in result:
        return f"refused: {result['refused']}"
    if "torch" in result:
        return by_both(result)
    if "unrecorded" in result:
        return f"not recorded: {result['unrecorded']}"
    if "recorded" not in result:
        return "by the model"
    different = [figure for figure in runs.FIGURES if result["answered"][figure] != result["recorded"][figure]]
    return "equal" if not different else "different: " + ", ".join(
        f"{figure} {result['answered'][figure]} / {result['recorded'][figure]}" for figure in different)


def reserved_of(result):
    peaks = result.get("answered") or result.get("torch")
    return f"{peaks['reserved'] / 2**20:.0f}" if peaks else ""


def report(results, form):
    summary = {}
    for result in results:
        word = outcome(result).split(":")[0]
        summary[word] = summary.get(word, 0) + 1
    counts = [["outcome", "architectures"], *([word, str(count)] for word, count in summary.items())]
    rows = [["architecture", "outcome", "MiB reserved", "s"], *(
        [runs.name_of(result["case"]), outcome(result), reserved_of(result), str(result["seconds"])]
        for result in results)]
    return "\n\n".join(map(as_markdown if form == "markdown" else as_text, (counts, rows)))
