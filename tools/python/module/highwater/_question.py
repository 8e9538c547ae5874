"""One question to the program: a command, what it is about, and its options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from highwater import _native
from highwater._options import words


class Question(NamedTuple):
    command: str
    inputs: tuple[str, ...]
    options: Mapping[str, Any]
    #: Keeps what `inputs` names alive: bytes that exist in memory alone.
    held: tuple[Any, ...] = ()

    def text(self, *more: str) -> str:
        """What the program prints."""
        answer, _ = self._ask(*more)
        return answer

    def table(self) -> str:
        """What the program prints for people."""
        return self.text("--format=table")

    def data(self) -> dict[str, Any]:
        """The JSON that the program prints. A budget that was exceeded is no error."""
        import json

        answer, _ = self._ask("--format=json")
        result: dict[str, Any] = json.loads(answer)
        return result

    def other(self, command: str, **options: Any) -> Question:
        """Another command about the same, with the options given."""
        return Question(command, self.inputs, options, self.held)

    def _ask(self, *more: str) -> tuple[str, list[str]]:
        return _native.call([self.command, *words(self.options), *more, *self.inputs])
