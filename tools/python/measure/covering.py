"""A few rows of a table of axes that together cover every combination of values of chosen axes."""

import itertools


def covering(axes, interactions, allowed=lambda row: True):
    """Rows {axis: value} such that for each group of axes in `interactions` every combination of values that an
    allowed row has at all is in some row.

    Greedy: always the row with the most missing combinations, the first of equals in the order of the
    axes' product; so equal input gives equal rows.
    """
    names = list(axes)
    groups = [tuple(group) for group in interactions]
    rows = [row for values in itertools.product(*axes.values()) if allowed(row := dict(zip(names, values)))]
    shown = [frozenset((group, tuple(row[axis] for axis in group)) for group in groups)
             for row in rows]
    missing = set().union(*shown)
    chosen = []
    while missing:
        best = max(range(len(rows)), key=lambda i: len(shown[i] & missing))
        chosen.append(rows[best])
        missing -= shown[best]
    return chosen
