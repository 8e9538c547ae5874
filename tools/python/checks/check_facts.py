#!/usr/bin/env python3
"""Compares the facts about training programs with installed releases of them:

    check_facts.py --against PYTHON [--checkout FOLDER] [FACTS...]

PYTHON has the packages (transformers, trl, ...), FOLDER is a checkout of Megatron-LM, FACTS are names of files
in workloads/facts/programs; without any, all that have a package (facts_check/definitions.json). Sources are
read and not imported. Prints keys that no row knows, names and patterns of rows that the release has not, and
other defaults, and exits with 1 if there are any, with 4 if no package is installed.
"""

import argparse
import sys
from pathlib import Path

from facts_check.compare import compare
from facts_check.installed import CannotCollect, installed_parts

FACTS = Path(__file__).resolve().parents[3] / "workloads" / "facts" / "programs"
NOTHING_INSTALLED = 4


def read_words():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", required=True, metavar="PYTHON", help="the interpreter whose packages are read")
    parser.add_argument("--checkout", action="append", default=[], metavar="FOLDER",
                        help="a clone of a program that is no package, such as Megatron-LM; may be repeated")
    parser.add_argument("--facts", type=Path, default=FACTS, metavar="FOLDER",
                        help="a folder of files like workloads/facts/programs, which is the default")
    parser.add_argument("names", nargs="*", metavar="FACTS", help="files to check, such as trl; default: all")
    return parser.parse_args()


def print_table(rows):
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def summary(comparison):
    release = ", ".join(comparison.releases) or "not installed"
    if comparison.releases and comparison.missing:
        release += f" (names that are gone are not looked for without {', '.join(comparison.missing)})"
    return (comparison.facts, str(comparison.keys), str(comparison.defaults), str(len(comparison.findings)), release)


def report(comparisons):
    findings = [(each.what, comparison.facts, each.key, each.detail, each.place)
                for comparison in comparisons for each in comparison.findings]
    if findings:
        print_table([("finding", "facts", "key", "what", "where"), *findings])
        print()
    print_table([("facts", "keys", "defaults", "findings", "release, read from source"), *map(summary, comparisons)])


def chosen(parts, names):
    known = list(dict.fromkeys(part.facts for part in parts))
    wrong = [name for name in names if name not in known]
    if wrong:
        sys.exit(f"check_facts.py: no package defines {', '.join(wrong)}; there are {', '.join(known)}")
    return names or known


def main():
    words = read_words()
    try:
        parts = installed_parts(words.against, words.checkout)
    except CannotCollect as error:
        sys.exit(f"check_facts.py: {error}")
    try:
        comparisons = [compare(words.facts, name, parts) for name in chosen(parts, words.names)]
    except FileNotFoundError as error:
        sys.exit(f"check_facts.py: {error.filename}: there is no such file of facts; give --facts the folder of all")
    report(comparisons)
    if not any(each.releases for each in comparisons):
        return NOTHING_INSTALLED
    return 1 if any(each.findings for each in comparisons) else 0


if __name__ == "__main__":
    sys.exit(main())
