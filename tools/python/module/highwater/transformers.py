"""hw.watch for transformers' Trainer: `Trainer(..., callbacks=[WatchCallback()])`."""

from __future__ import annotations

import os
from typing import Any

from transformers import TrainerCallback

from highwater._watch import watch


class WatchCallback(TrainerCallback):  # type: ignore[misc]  # transformers has no types
    """Explains an out of memory of the training, as hw.watch does, which takes the same arguments.

    >>> Trainer(model, arguments, callbacks=[WatchCallback("oom.pickle")])

    The snapshots that it wrote are in `watch.files`.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, **options: Any) -> None:
        self.watch = watch(path, **options)

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        self.watch.start()

    def on_train_end(self, *_: Any, **__: Any) -> None:
        self.watch.stop()
