"""What steps of optimizers ask the allocator for, over a few small parameters, as tests/data/optim/steps.txt has it:

    highwater record --gpu h100-80 --steps 9999 -- python3 tools/python/measure/optimizer_steps.py NAME... > steps.txt

A line `NAME DTYPE` is followed by one for the constructor and one for each step: "+64" allocates 64 bytes, "-2" frees
the third block since the start, where the parameters come first and each step's gradients come before its line.
Without names: all that `--engine torch` can make. NAME:loop is torch's own implementation for one tensor after the
other. ASGD's loop and AdaLomo read their device: record them with `--answers item=1`, what a GPU has there before step
1,000,000, and of parameters that did not begin at zero.
"""
import importlib
import pathlib
import sys
import warnings

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "engine"))
from highwater_engine.scripts.optimizers import IMPLEMENTATIONS, OPTIMIZERS  # noqa: E402

SHAPES = ((80, 40), (10,), (40, 80), (400, 300))
RANK = 4
STEPS = {"radam": 7}  # it is rectified from the sixth step on


class History:
    """The allocator's history as words; blocks have numbers in order of allocation."""

    def __init__(self):
        torch.cuda.init()
        torch.cuda.memory._record_memory_history(max_entries=1_000_000)
        self.start()

    def start(self):
        self.seen, self.numbers, self.count = len(self._entries()), {}, 0

    def _entries(self):
        traces = torch.cuda.memory._snapshot()["device_traces"]
        return traces[0] if traces else []

    def words(self):
        entries = self._entries()
        found = [word for entry in entries[self.seen:] if (word := self._word(entry))]
        self.seen = len(entries)
        return " ".join(found)

    def _word(self, entry):
        if entry["action"] == "alloc":
            self.numbers[entry["addr"]] = self.count
            self.count += 1
            return f"+{entry['size']}"
        return f"-{self.numbers[entry['addr']]}" if entry["action"] == "free_completed" else ""


def made(name, params):
    """The optimizer, by the keywords that the engine's scripts give it."""
    name, _, implementation = name.partition(":")
    entry = OPTIMIZERS[name]
    keywords = entry.keywords + IMPLEMENTATIONS[implementation or None]
    module, _, cls = entry.name.rpartition(".")
    names = {"owner": getattr(importlib.import_module(module), cls)}
    if entry.takes_model:
        params = torch.nn.ParameterList(params)
    elif name == "muon":
        params = [p for p in params if p.dim() == 2]
    elif entry.targeted:
        targets = [p for p in params if p.dim() == 2]
        others = [p for p in params if p.dim() != 2]
        params = [{"params": others}, {"params": targets, **eval("{" + entry.targeted.format(rank=RANK) + "}")}]
    optimizer = eval(f"owner(params, {keywords})", {**globals(), **names, "params": params})
    if entry.trains:
        optimizer.train()
    return optimizer


def step(optimizer):
    """LOMO's and AdaLomo's are those of their hooks."""
    getattr(optimizer, "grad_func", lambda _: optimizer.step())(0)


def steps_of(name, dtype, history):
    history.start()
    params = [torch.nn.Parameter(torch.empty(shape, device="cuda", dtype=dtype)) for shape in SHAPES]
    history.words()
    optimizer = made(name, params)
    yield history.words()
    for _ in range(STEPS.get(name.partition(":")[0], 3)):
        for param in params:
            param.grad = torch.empty_like(param)
        history.words()
        step(optimizer)
        yield history.words()
        optimizer.zero_grad()
        history.words()
        for param in params:  # of those that the optimizer does not have
            param.grad = None
        history.words()


def main():
    warnings.filterwarnings("ignore")
    history = History()
    torch.empty(8, 8, device="cuda") @ torch.empty(8, 8, device="cuda")
    for name in sys.argv[1:] or OPTIMIZERS:
        for word, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
            try:
                lines = list(steps_of(name, dtype, history))
            except ValueError as error:
                print(f"{name} {word} fails: {error}", file=sys.stderr)
                continue
            print(f"{name} {word}", *lines, sep="\n", flush=True)


if __name__ == "__main__":
    main()
