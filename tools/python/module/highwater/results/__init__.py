"""What the commands answer, a class for each; written by make_results.py."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from highwater.results.advise import Advise as Advise
    from highwater.results.chance import Chance as Chance
    from highwater.results.diff import Diff as Diff
    from highwater.results.estimate import Estimate as Estimate
    from highwater.results.explain import Explain as Explain
    from highwater.results.fit import Fit as Fit
    from highwater.results.info import Info as Info
    from highwater.results.models import Models as Models
    from highwater.results.plan import Plan as Plan
    from highwater.results.reduce import Reduce as Reduce
    from highwater.results.replay import Replay as Replay
    from highwater.results.scaled import Scaled as Scaled
    from highwater.results.scan import Scan as Scan
    from highwater.results.simulate import Simulate as Simulate
    from highwater.results.solve import Solve as Solve
    from highwater.results.sweep import Sweep as Sweep
    from highwater.results.validate import Validate as Validate

_COMMANDS = {
    "Advise": "advise",
    "Chance": "chance",
    "Diff": "diff",
    "Estimate": "estimate",
    "Explain": "explain",
    "Fit": "fit",
    "Info": "info",
    "Models": "models",
    "Plan": "plan",
    "Reduce": "reduce",
    "Replay": "replay",
    "Scaled": "scaled",
    "Scan": "scan",
    "Simulate": "simulate",
    "Solve": "solve",
    "Sweep": "sweep",
    "Validate": "validate",
}


def __getattr__(name: str) -> Any:
    if name not in _COMMANDS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"highwater.results.{_COMMANDS[name]}"), name)
