"""The HTML page of a run: memory and tensors over time, segments, who holds memory."""

from __future__ import annotations

import functools
import html
import os

from highwater._question import Question


class Report:
    """A page that needs nothing but itself. Notebooks show it; `save` writes it."""

    def __init__(self, question: Question) -> None:
        self._question = question

    @functools.cached_property
    def html(self) -> str:
        return self._question.text("--output=-")

    def save(self, path: str | os.PathLike[str]) -> None:
        # The command knows what the page is made of, and never replaces that.
        self._question.text(f"--output={os.path.abspath(path)}")

    def _repr_html_(self) -> str:
        return framed(self.html)


def framed(page: str, height: int = 640) -> str:
    """A page within a page: its styles and scripts stay its own."""
    return (f'<iframe style="width: 100%; height: {height}px; border: 0" '
            f'sandbox="allow-scripts" srcdoc="{html.escape(page)}"></iframe>')
