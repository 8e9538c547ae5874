"""Cases from a seed: the loop, the model, its sizes and the GPU, then what the loop varies."""

import random

from . import plan_rows
from .families import FAMILIES
from .loops import LOOPS, Plans
from .old_releases import Releases

GPUS = {"h100-80": 6, "a100-80": 5, "h200": 1, "b200": 1, "a100-40": 2, "l40s": 2, "rtx4090": 2}
SEQUENCES = (128, 200, 256, 384, 512, 640, 1000, 1024, 2048)
NEWEST = Releases()
MOST_TOKENS = 4096  # of a micro-batch: a recording takes seconds


def weighted(rng, rows):
    """A name of {name: weight}."""
    return rng.choices(list(rows), list(rows.values()))[0]


def is_recordable(case):
    """grouped_mm of a mixture is one kernel on Hopper in bf16. Elsewhere it is a loop over groups whose ends the host
    reads, which a device without values cannot tell it."""
    if "words" in case:
        return True  # rows of plans choose their GPUs
    computes_bf16 = "bf16" in (case["weights"], case["autocast"]) or case["sharding"] in ("fsdp1", "fsdp2")
    return not FAMILIES[case["family"]].is_mixture or (case["gpu"] in ("h100-80", "h200") and computes_bf16)


def drawn_case(seed, number, loops=tuple(LOOPS), releases=NEWEST):
    """The case of that number, whatever else is drawn."""
    rng = random.Random(f"{seed}/{number}")
    while True:
        case = any_case(rng, f"{seed}-{number:03d}", loops)
        if is_recordable(case) and releases.have(case):
            return {**case, "releases": releases.words()} if releases.words() else case


def any_plan(rng, name, loop):
    """A model, a shape and words."""
    row = LOOPS[loop]
    family, config = row.model(rng)
    seq = rng.choice(SEQUENCES)
    return {"id": f"{name}-{loop}-{family}", "loop": loop, "family": family, "config": {"model_type": family, **config},
            "gpu": weighted(rng, {gpu: GPUS[gpu] for gpu in row.gpus or GPUS}), "seq": seq,
            "batch": rng.choice([batch for batch in (1, 2, 3, 4, 8, 16) if batch * seq <= MOST_TOKENS]),
            "words": plan_rows.fitting(row.words(rng), family)}


def any_case(rng, name, loops):
    loop = weighted(rng, {name: LOOPS[name].weight for name in loops})
    if isinstance(LOOPS[loop], Plans):
        return any_plan(rng, name, loop)
    family = weighted(rng, {name: FAMILIES[name].weight for name in LOOPS[loop].families})
    seq = rng.choice(SEQUENCES)
    case = {"id": f"{name}-{loop}-{family}", "loop": loop, "family": family,
            "config": {"model_type": family, **FAMILIES[family].config(rng)}, "gpu": weighted(rng, GPUS), "seq": seq,
            "batch": rng.choice([batch for batch in (1, 2, 3, 4, 8, 16) if batch * seq <= MOST_TOKENS])}
    return {**case, **LOOPS[loop].vary(rng, case)}


def drawn_cases(seed, count, loops=tuple(LOOPS), releases=NEWEST):
    return [drawn_case(seed, number, loops, releases) for number in range(1, count + 1)]
