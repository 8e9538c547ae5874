"""hw.watch for Lightning: `Trainer(callbacks=[WatchCallback()])`."""

from __future__ import annotations

import os
from typing import Any

from lightning.pytorch.callbacks import Callback

from highwater._watch import watch


class WatchCallback(Callback):  # type: ignore[misc]  # where Lightning is missing, it has no types
    """Explains an out of memory of fit, validate, test and predict, as hw.watch does, which takes the same arguments.

    >>> Trainer(callbacks=[WatchCallback("oom.pickle")])

    The snapshots that it wrote are in `watch.files`.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, **options: Any) -> None:
        self.watch = watch(path, **options)

    def setup(self, *_: Any, **__: Any) -> None:
        self.watch.start()

    def teardown(self, *_: Any, **__: Any) -> None:
        self.watch.stop()

    def on_exception(self, *_: Any, **__: Any) -> None:
        self.watch.stop()
