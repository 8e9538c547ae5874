"""What a type checker accepts and refuses: checked by mypy --strict, which also refuses an ignore that is not needed."""
from __future__ import annotations

import highwater as hw


def accepted() -> str:
    answer = hw.simulate(model="gpt2", batch=4, seq=[128, 256], precision="bf16", capacity="40GiB", find_batch=True)
    hw.estimate(model="t5-3b", gpus_per_node=8, dropout=0.1, grad_clip="none")
    hw.plan(model="gpt2", gpu="v100-16", gpus=2, use_cache=False)
    hw.load("snapshot.pickle").sweep(set={"expandable_segments": [False, True]})
    hw.sweep(model="gpt2", batch=4, set={"checkpoint": ["none", "full"]})
    hw.validate(recorded="measured", only="gpt2*")
    ranks = hw.merge(task.run() for task in hw.tasks("scan", "snapshots", pieces=64))
    names: list[str] = [row.file for row in ranks.rows]
    hw.merge(task.run() for task in hw.tasks("sweep", model="gpt2", pieces=len(names), set={"batch": [1, 2]})).runs
    peak: int | None = answer.peak.reserved_bytes
    return f"{peak} {hw.load(b'').replay(alloc_conf='expandable_segments:True').devices[0].peak.reserved_bytes}"


def refused() -> None:
    hw.simulate(model="gpt2", batch="four")  # type: ignore[arg-type]
    hw.simulate(model="gpt2", bach=4)  # type: ignore[call-arg]
    hw.estimate(model="gpt2", find_batch=True)  # type: ignore[call-arg]
    hw.load("snapshot.pickle").replay(batch=4)  # type: ignore[call-arg]
    hw.scan("snapshots", batch=4)  # type: ignore[call-arg]
    hw.tasks("scan", "snapshots")  # type: ignore[call-overload]
    hw.tasks("replay", "snapshot.pickle", pieces=4)  # type: ignore[call-overload]
    hw.load("snapshot.pickle").explain(top="all")  # type: ignore[arg-type]
