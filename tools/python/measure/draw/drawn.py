"""Cases from a seed: the loop, the model, its sizes and the GPU, then what the loop varies."""

import random

from .families import FAMILIES
from .loops import LOOPS

GPUS = {"h100-80": 6, "a100-80": 5, "h200": 1, "b200": 1, "a100-40": 2, "l40s": 2, "rtx4090": 2}
SEQUENCES = (128, 200, 256, 384, 512, 640, 1000, 1024, 2048)
MOST_TOKENS = 4096  # of a micro-batch: a recording takes seconds


def weighted(rng, rows):
    """A name of {name: weight}."""
    return rng.choices(list(rows), list(rows.values()))[0]


def is_recordable(case):
    """grouped_mm of a mixture is one kernel on Hopper in bf16. Elsewhere it is a loop over groups whose ends the host
    reads, which a device without values cannot tell it."""
    computes_bf16 = "bf16" in (case["weights"], case["autocast"]) or case["sharding"] in ("fsdp1", "fsdp2")
    return not FAMILIES[case["family"]].is_mixture or (case["gpu"] in ("h100-80", "h200") and computes_bf16)


def drawn_case(seed, number, loops=tuple(LOOPS)):
    """The case of that number, whatever else is drawn."""
    rng = random.Random(f"{seed}/{number}")
    while True:
        case = any_case(rng, f"{seed}-{number:03d}", loops)
        if is_recordable(case):
            return case


def any_case(rng, name, loops):
    loop = weighted(rng, {name: LOOPS[name].weight for name in loops})
    family = weighted(rng, {name: FAMILIES[name].weight for name in LOOPS[loop].families})
    seq = rng.choice(SEQUENCES)
    case = {"id": f"{name}-{loop}-{family}", "loop": loop, "family": family,
            "config": {"model_type": family, **FAMILIES[family].config(rng)}, "gpu": weighted(rng, GPUS), "seq": seq,
            "batch": rng.choice([batch for batch in (1, 2, 3, 4, 8, 16) if batch * seq <= MOST_TOKENS])}
    return {**case, **LOOPS[loop].vary(rng, case)}


def drawn_cases(seed, count, loops=tuple(LOOPS)):
    return [drawn_case(seed, number, loops) for number in range(1, count + 1)]
