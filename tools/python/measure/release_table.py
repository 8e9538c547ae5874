"""Which cases are exact under which releases: the verdict on a case, and the tables of all."""

import dataclasses

FIGURES = ("requested", "allocated", "active", "reserved")


@dataclasses.dataclass(frozen=True)
class Verdict:
    """difference: of the peaks, or why nothing was compared; empty where they are equal."""
    difference: str
    in_order: bool = True

    @property
    def is_exact(self):
        return not self.difference and self.in_order

    @property
    def text(self):
        return self.difference or ("" if self.in_order else "order or scratch")


def is_autocast(case):
    """PyTorch frees autocast's cache of weights in the order of a hash table of addresses."""
    return case.get("precision", "").startswith("amp")


def in_order(case, requests):
    if is_autocast(case):
        return requests["equal"] or requests["only_recorded"] == requests["only_simulated"] == 0
    return requests["equal"]


def worst_peak(steps):
    """(error, figure) of the largest error; a step that the simulation did not reach counts as 1."""
    errors = [(error_of(step, figure), figure) for step in steps for figure in FIGURES]
    return max(errors, key=lambda pair: abs(pair[0]), default=(0.0, ""))


def error_of(step, figure):
    recorded, simulated = step["recorded"][f"{figure}_bytes"], step["simulated"]
    return 1.0 if simulated is None else simulated[f"{figure}_bytes"] / recorded - 1 if recorded else 0.0


def verdict(case, entry, validated):
    """entry: of the index. validated: of `highwater validate`."""
    if entry["outcome"] not in ("ok", "oom"):
        return Verdict(f"did not run: {last_line(entry.get('error', ''))}", False)
    if "requests" not in validated:
        return Verdict(f"not simulated: {validated['reason']}", False)
    error, figure = worst_peak(validated["steps"])
    difference = f"{figure} {100 * error:+.2f} %" if error else ""
    if not validated["ends_alike"]:
        difference = "memory runs out elsewhere"
    return Verdict(difference, in_order(case, validated["requests"]))


def last_line(text):
    return (text.strip().splitlines() or ["no message"])[-1]


def release_key(text):
    return tuple(int(number) for number in text.split("."))


def cell(found):
    """Cases with equal peaks, those of them with all requests in order, and all."""
    if found is None:
        return "-"
    if isinstance(found, str):
        return "excluded"
    peaks, exact = (sum(ask(each) for each in found.values())
                    for ask in (lambda each: not each.difference, lambda each: each.is_exact))
    return f"{peaks}, {exact} of {len(found)}"


def row(cells):
    return "| " + " | ".join(cells) + " |"


def counts(found):
    """A row for each PyTorch."""
    by_name = {(pair.torch, pair.transformers): value for pair, value in found.items()}
    torches = sorted({torch for torch, _ in by_name}, key=release_key, reverse=True)
    columns = sorted({transformers for _, transformers in by_name}, key=release_key)
    lines = [row(["PyTorch", *(f"transformers {name}" for name in columns)]), row(["---"] + ["---:"] * len(columns))]
    return lines + [row([torch, *(cell(by_name.get((torch, name))) for name in columns)]) for torch in torches]


def differences(found):
    """Each case that is not exact somewhere: what differs, and where."""
    where = {}
    for pair, verdicts in found.items():
        for name, verdict_ in (verdicts.items() if isinstance(verdicts, dict) else ()):
            if not verdict_.is_exact:
                places = where.setdefault((name, verdict_.text), {})
                places.setdefault(pair.torch, []).append(pair.transformers)
    lines = [row([name, difference, "; ".join(f"{torch} with {', '.join(sorted(others, key=release_key))}"
                                              for torch, others in places.items())])
             for (name, difference), places in sorted(where.items())]
    return [row(["case", "difference", "PyTorch with transformers"]), row(["---"] * 3), *lines] if lines else []


def table(found):
    """Markdown."""
    excluded = [f"{pair.torch} with {pair.transformers}: {reason}" for pair, reason in found.items()
                if isinstance(reason, str)]
    parts = [counts(found), differences(found), excluded]
    return "\n\n".join("\n".join(part) for part in parts if part)
