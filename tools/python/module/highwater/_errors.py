"""What can go wrong, as exceptions: `where`, `what`, and what to try."""

from __future__ import annotations

from collections.abc import Iterable


class InputError(ValueError):
    """An input that cannot be read, or a question that cannot be asked of it.

    `source` is the input, `where` the place in it, `what` is wrong there, and `try_` says what to do.
    `str()` is the line that the program prints.
    """

    def __init__(self, message: str, source: str = "", where: str = "", what: str = "", try_: str = "") -> None:
        super().__init__(message)
        self.source = source
        self.where = where
        self.what = what or message
        self.try_ = try_

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.source, self.where, self.what, self.try_)


class UsageError(InputError):
    """Options that do not exist, contradict each other or have no such value; `problems` has all."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        where, what, try_ = _parts(self.problems[0])
        super().__init__("\n".join(self.problems), "", where, what, try_)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.problems,)


def _parts(problem: str) -> tuple[str, str, str]:
    """`where: what; what to try` in its three parts."""
    rest, _, try_ = problem.partition("; ")
    where, colon, what = rest.partition(": ")
    return (where, what, try_) if colon else ("", rest, try_)
