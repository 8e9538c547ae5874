"""The tables of second answers: shares by program and field, differences by cause, refusals."""

from collections import Counter

from .comparison import compared, outcome_of


def share(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "-"


def program_rows(results):
    rows = ["program  cases  compared  alike  fields  alike  said  wrong  own refuses  both refuse  only --from refuses".split("  ")]
    for program in [*dict.fromkeys(result["program"] for result in results), None]:
        chosen = [result for result in results if program in (None, result["program"])]
        outcomes = Counter(outcome_of(result["own"], result["mine"]) for result in chosen)
        fields = [compared(result["own"], result["mine"]) for result in chosen
                  if outcome_of(result["own"], result["mine"]) == "compared"]
        answers = [answer for row in fields for answer in row.values()]
        alike, said = answers.count("alike"), answers.count("said")
        whole = sum(all(answer in ("alike", "said") for answer in row.values()) for row in fields)
        rows.append([program or "all", str(len(chosen)), str(len(fields)), share(whole, len(fields)), str(len(answers)),
                     share(alike + said, len(answers)), str(said), str(len(answers) - alike - said),
                     *(str(outcomes[name]) for name in ("own refuses", "both refuse", "refused"))])
    return rows


def field_rows(results):
    counts, wrong = Counter(), Counter()
    for result in results:
        if outcome_of(result["own"], result["mine"]) == "compared":
            for field, answer in compared(result["own"], result["mine"]).items():
                counts[result["program"], field] += 1
                wrong[result["program"], field] += answer not in ("alike", "said")
    return [["program", "field", "compared", "alike"]] + [
        [*key, str(counts[key]), share(counts[key] - wrong[key], counts[key])] for key in sorted(counts)]


def difference_rows(results):
    rows = Counter()
    where = {}
    for result in results:
        if outcome_of(result["own"], result["mine"]) == "compared":
            for field, answer in compared(result["own"], result["mine"]).items():
                if answer not in ("alike", "said"):
                    key = (result["program"], field, answer)
                    rows[key] += 1
                    where.setdefault(key, result["origin"])
    return [["program", "field", "here / its own", "cases", "for example"]] + [
        [*key, str(count), where[key]] for key, count in rows.most_common()]


def refusal_rows(results, who, outcome):
    rows, where = Counter(), {}
    for result in results:
        if outcome_of(result["own"], result["mine"]) == outcome:
            key = (result["program"], result[who].get("refused") or result[who].get("failed", ""))
            rows[key] += 1
            where.setdefault(key, result["origin"])
    return [["program", f"{outcome}: {who}", "cases", "for example"]] + [
        [*key, str(count), where[key]] for key, count in rows.most_common()]


def as_text(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def as_markdown(rows):
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])


def report(results, form):
    tables = [program_rows(results), field_rows(results), difference_rows(results), refusal_rows(results, "mine", "refused"),
              refusal_rows(results, "own", "own refuses"), refusal_rows(results, "own", "failed")]
    return "\n\n".join(map(as_markdown if form == "markdown" else as_text, (rows for rows in tables if len(rows) > 1)))
