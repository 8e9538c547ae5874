"""The errors of drawn cases: median, 95th percentile, worst; every case, the worst first."""

import shlex

from .results import FIGURES, typed_line


def error_of(result, figure):
    return result["simulated"][figure] / result["recorded"][figure] - 1


def percent(value):
    return f"{100 * value:+.3f} %"


def quantile(values, share):
    """The smallest value that this share of all is not above."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)]


def summary_rows(results):
    """A row per figure and loop; all loops first."""
    compared = [result for result in results if "simulated" in result]
    loops = [None, *dict.fromkeys(result["case"]["loop"] for result in compared)]
    rows = [["loop", "cases", "figure", "median", "p95", "worst", "which"]]
    for loop in loops:
        chosen = [result for result in compared if loop in (None, result["case"]["loop"])]
        for figure in FIGURES if chosen else ():
            errors = [abs(error_of(result, figure)) for result in chosen]
            worst = max(chosen, key=lambda result: abs(error_of(result, figure)))
            rows.append([loop or "all", str(len(chosen)), figure, f"{100 * quantile(errors, 50):.3f} %",
                         f"{100 * quantile(errors, 95):.3f} %", percent(error_of(worst, figure)), worst["case"]["id"]])
    return rows


def worst_error(result):
    return max(abs(error_of(result, figure)) for figure in FIGURES)


def case_rows(results):
    compared = sorted((result for result in results if "simulated" in result), key=worst_error, reverse=True)
    return [["case", *FIGURES, "MiB reserved", "typed"]] + [
        [result["case"]["id"], *(percent(error_of(result, figure)) for figure in FIGURES),
         f"{result['recorded']['reserved'] / 2**20:.0f}", shlex.join(typed_line(result["case"])[7:])]
        for result in compared]


def failure_rows(results):
    rows = [[result["case"]["id"], result.get("error") or result["refused"]]
            for result in results if "simulated" not in result]
    return [["not compared", "why"], *rows] if rows else []


def as_text(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def as_markdown(rows):
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])


def report(results, form):
    tables = [rows for rows in (summary_rows(results), case_rows(results), failure_rows(results)) if len(rows) > 1]
    return "\n\n".join(map(as_markdown if form == "markdown" else as_text, tables))
