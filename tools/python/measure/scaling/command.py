"""`measure scaling`: records each program at four small sizes, fits, and predicts recordings of 4 to 16 times as much."""

import concurrent.futures
import dataclasses
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from ..case_fields import CaseError

TRAIN = Path(__file__).resolve().parent / "train.py"


@dataclasses.dataclass(frozen=True)
class Program:
    """A row of the table."""

    name: str
    size: str = "seq"       # what SIZE of train.py is
    least: tuple = (2, 256)  # batch and size of the smallest recording
    ranks: int = 0
    gpu: str = "h100-80"


PROGRAMS = (
    Program("encoder"), Program("gpt2_loop"), Program("llama_eager"), Program("llama_checkpointed"),
    Program("trainer_gpt2"), Program("trainer_llama"), Program("trl_lora"), Program("accelerate_loop"),
    Program("peft_lora"), Program("eight_bit_adam"), Program("moe"), Program("mamba", least=(2, 16)), Program("t5"),
    Program("bert"), Program("whisper", least=(2, 64)), Program("clip", least=(4, 64)),
    Program("vit", "side", (4, 128)), Program("convnext", "side", (4, 64)), Program("resnet", "side", (4, 64)),
    Program("unet", "side", (4, 32)), Program("ddp", ranks=8), Program("fsdp2", ranks=8),
    Program("deepspeed_zero2", ranks=8), Program("deepspeed_zero3", ranks=8), Program("megatron", ranks=1),
    Program("torchtitan", ranks=8, gpu="a100-80"),  # on an H100 it asks for FlashAttention 3, which PyPI does not have
)
PEAKS = ("requested_bytes", "allocated_bytes", "active_bytes", "reserved_bytes")


def add_options(parser):
    parser.add_argument("--only", metavar="NAME,...", help="only these programs")
    parser.add_argument("--out", default="scaling", help="folder of the recordings, which are kept (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="recordings at once")
    parser.add_argument("--highwater", default="highwater", metavar="FILE", help="the program (default: on the PATH)")
    parser.add_argument("--python", default=sys.executable, metavar="FILE",
                        help="the Python whose PyTorch and frameworks are recorded (default: this one)")


def fitted_points(program):
    """Three sizes: two would not tell what grows with a size from what grows with its square."""
    batch, size = program.least
    return [(batch, size), (2 * batch, size), (batch, 2 * size), (2 * batch, 3 * size)]


def predicted_points(program):
    """4 and 16 times the largest recorded batch, 4 times the largest recorded size."""
    batch, size = program.least
    return [(8 * batch, 2 * size), (32 * batch, 2 * size), (2 * batch, 12 * size)]


class Recorder:
    def __init__(self, options):
        self.options = options
        self.folder = Path(options.out)
        self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, program, point):
        return self.folder / f"{program.name}-{point[0]}-{point[1]}.pickle"

    def record(self, program, point):
        """The error, if there is one."""
        path = self.path(program, point)
        if path.exists():
            return None
        ranks = ["--world", str(program.ranks)] if program.ranks else []
        line = [self.options.highwater, "record", "--gpu", program.gpu, "--capacity", "4000GiB", "--steps", "3", *ranks,
                "--output", str(path), "--", self.options.python, str(TRAIN), program.name, *map(str, point)]
        environment = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", **os.environ}
        done = subprocess.run(line, text=True, capture_output=True, env=environment, check=False)
        if done.returncode != 0:
            path.unlink(missing_ok=True)
            return (done.stderr.strip().splitlines() or ["?"])[-1]
        return None

    def answer(self, *words):
        done = subprocess.run([self.options.highwater, *map(str, words), "--format", "json"], text=True, capture_output=True,
                              check=False)
        if done.returncode != 0:
            raise CaseError(done.stderr.strip())
        return json.loads(done.stdout)

    def result(self, program):
        """(the program, how many requests were confirmed of how many, [(point, ratio, its peaks, equal, warnings)])"""
        run = self.folder / f"{program.name}.hwp"
        named = [f"{self.path(program, point)}:batch={point[0]},{program.size}={point[1]}" for point in fitted_points(program)]
        fit = self.answer("fit", *named, "--output", run)
        rows = []
        for point in predicted_points(program):
            truth = self.answer("replay", self.path(program, point))["devices"][0]["peak"]
            said = self.answer("simulate", "--from", run, "--batch", point[0], f"--{program.size}", point[1])
            rows.append((point, truth, said))
        return fit, rows


def is_equal(truth, said):
    return all(truth[key] == said["peak"][key] for key in PEAKS)


def lies_in_range(truth, said):
    """Whether the range that the answer gives holds all four peaks."""
    found = said["estimated_range"]
    return bool(found) and all(found["smallest"][key] <= truth[key] <= found["largest"][key] for key in PEAKS)


def outcome(truth, said):
    """ "equal", or by how much peaks differ, and whether a warning or a range said so."""
    if is_equal(truth, said):
        return "equal"
    words = ", ".join(f"{key.removesuffix('_bytes')} {100 * (said['peak'][key] / truth[key] - 1):+.2f} %"
                      for key in PEAKS if truth[key] != said["peak"][key])
    return words + (" WITHOUT A WARNING" if not said["warnings"] else "; within its range" if lies_in_range(truth, said) else "")


def doubts(said):
    """What the answer warns of beside being beyond the recordings, which all are."""
    return ", ".join(sorted({warning["kind"] for warning in said["warnings"]} - {"beyond"})) or "-"


def gib(number):
    return f"{number / 2**30:.3f}"


def table(results):
    lines = ["| program | recorded | requests confirmed | predicted | peak reserved, GiB | outcome | doubts |",
             "|---|---|---|---|---|---|---|"]
    exact = wrong = equal_doubted = equal_points = wrong_points = wrong_named = 0
    for program, fit, rows in results:
        outcomes = [outcome(truth, said) for _, truth, said in rows]
        exact += all(each == "equal" for each in outcomes)
        wrong += sum("WITHOUT" in each for each in outcomes)
        for _, truth, said in rows:
            equal_points += is_equal(truth, said)
            equal_doubted += is_equal(truth, said) and doubts(said) != "-"
            wrong_points += not is_equal(truth, said)
            wrong_named += not is_equal(truth, said) and doubts(said) != "-"
        counts = fit["requests"]
        for i, ((point, truth, said), words) in enumerate(zip(rows, outcomes)):
            points = " ".join(f"{batch}x{size}" for batch, size in fitted_points(program))
            head = (program.name, f"batch x {program.size}: {points}",
                    f"{counts['confirmed']} of {sum(counts.values())}") if i == 0 else ("", "", "")
            lines.append("| " + " | ".join([*head, f"{point[0]} x {point[1]}", gib(truth["reserved_bytes"]), words,
                                           doubts(said)]) + " |")
    lines.append("")
    lines.append(f"{exact} of {len(results)} programs with all peaks equal at every point; "
                 f"{wrong} wrong answers without a warning. Of {wrong_points} answers that differ {wrong_named} name a doubt "
                 f"beside being beyond the recordings; of {equal_points} equal ones {equal_doubted} do.")
    return "\n".join(lines)


def run(options):
    """@raises CaseError"""
    if shutil.which(options.highwater) is None:
        raise CaseError(f"--highwater {options.highwater}: no such program; build it and name the file")
    wanted = options.only.split(",") if options.only else [program.name for program in PROGRAMS]
    programs = [program for program in PROGRAMS if program.name in wanted]
    recorder = Recorder(options)
    todo = [(program, point) for program in programs for point in [*fitted_points(program), *predicted_points(program)]]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        errors = list(pool.map(lambda each: recorder.record(*each), todo))
    failed = {program.name: error for (program, _), error in zip(todo, errors) if error}
    for name, error in failed.items():
        print(f"{name}: not recorded: {error}", file=sys.stderr)
    results = []
    for program in programs:
        if program.name not in failed:
            results.append((program, *recorder.result(program)))
    print(table(results))
    return 0
