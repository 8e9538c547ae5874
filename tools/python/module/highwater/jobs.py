"""Questions about many runs at once: the snapshots of a job, programs that take turns on one GPU, and recorded cases beside the
simulation."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from highwater._question import Question
from highwater.recording import operand

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from highwater._keywords import PhasesOptions, ScanOptions, ValidateOptions
    from highwater.results import Phases, Scan, Validate


def scan(folder: str | os.PathLike[str], **options: Unpack[ScanOptions]) -> Scan:
    """Compares all snapshots of a job, in a folder or an archive: peaks by rank, who differs and in what.

    >>> ranks = hw.scan("snapshots/")
    >>> [row.rank for row in ranks.rows if row.outlier_growth]
    >>> ranks.to_parquet("ranks.parquet")

    A snapshot that cannot be read is a row whose `error` says why; `unreadable` counts them.
    """
    from highwater.results import Scan

    return Scan.of(Question("scan", (operand(folder),), options))


def phases(file: str | os.PathLike[str], **options: Unpack[PhasesOptions]) -> Phases:
    """Programs that take turns on one GPU, as `file` says (tools/docs/phases.md): what each phase of each cycle takes.

    >>> turns = hw.phases("grpo.toml", gpu="h100-80", cycles=5)
    >>> turns.verdict, [row.peak.reserved_bytes for row in turns.phases]
    """
    from highwater.results import Phases

    return Phases.of(Question("phases", (operand(file),), options))


def validate(grid: str | os.PathLike[str] | None = None, **options: Unpack[ValidateOptions]) -> Validate:
    """Compares the simulation with recordings (`recorded`), closed forms with published figures (`reference`), or both
    with each other over a grid of plans: a file, or the program's own.

    >>> hw.validate(recorded="measured/").summary
    """
    from highwater.results import Validate

    return Validate.of(Question("validate", () if grid is None else (operand(grid),), options))
