#!/usr/bin/env python3
"""Checks that interfaces have strong types: check_signatures.py SOURCE_DIR [--list]

Counts, over the headers of all layers, bool parameters and functions with two raw numbers side by side, which a call
can swap unnoticed. CONTRIBUTING asks for enums and for types such as Bytes instead. Neither may become more than
MOST_BOOLS and MOST_NUMBERS: whoever removes one lowers the number. --list prints them all.

A bool is no option where it is the value itself (a writer of JSON, a condition that becomes an enum), or where the
function stands for one of PyTorch's with that parameter; these are named below.
"""

import re
import sys
from pathlib import Path

LAYERS = ("traces", "allocator", "sim", "workloads", "tools")
#: Parameters that are the value which is written, read or tested.
VALUES = {"value", "condition", "present"}
#: Operators with PyTorch's own signature: F.dropout, F.embedding, Tensor.to, nn.LayerNorm.
OF_PYTORCH = {"dropout", "embedding", "to_host", "LayerNorm"}
#: Not the product's: the fake CUDA libraries have NVIDIA's signatures, mutants those of any expression.
LEFT_OUT = ("tools/record/fakecuda", "tools/python")
MOST_BOOLS = 14
MOST_NUMBERS = 131

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
STRING = re.compile(r'"(\\.|[^"\\])*"')
CALL = re.compile(r"(?<![\w.>])([A-Za-z_]\w*)\(")
BOOL = re.compile(r"^(?:const )?bool (\w+)(?: = .*)?$")
NUMBER = re.compile(r"^(?:const )?(?:std::)?(?:u?int(?:8|16|32|64)?_t|size_t|int|double|float|long|unsigned) \w+(?: = .*)?$")


def parameters(text):
    """The texts between the commas of `text`, without those in brackets."""
    depth, start = 0, 0
    for place, char in enumerate(text):
        depth += {**dict.fromkeys("<({[", 1), **dict.fromkeys(">)}]", -1)}.get(char, 0)
        if char == "," and depth == 0:
            yield " ".join(text[start:place].split())
            start = place + 1
    yield " ".join(text[start:].split())


def blanked(text):
    """Without comments and strings, with the same lines."""
    return STRING.sub('""', COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text))


def functions(header):
    """(line, name, parameters) of what looks like a declaration, and of calls, whose arguments have no types."""
    text = blanked(header.read_text(encoding="utf-8"))
    for found in CALL.finditer(text):
        depth, end = 1, found.end()
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        yield text.count("\n", 0, found.start()) + 1, found[1], list(parameters(text[found.end():end - 1]))


def bool_parameters(name, given):
    names = [found[1] for found in map(BOOL.match, given) if found]
    return [] if name in OF_PYTORCH else [each for each in names if each not in VALUES]


def headers(root):
    for layer in LAYERS:
        for header in sorted((root / layer).rglob("*.hpp")):
            if not str(header.relative_to(root)).startswith(LEFT_OUT):
                yield header


def findings(root):
    """(bool parameters, numbers side by side), a line for each."""
    bools, numbers = [], []
    for header in headers(root):
        for line, name, given in functions(header):
            place = f"{header.relative_to(root)}:{line}: {name}"
            bools += [f"{place}: bool {each}" for each in bool_parameters(name, given)]
            if any(NUMBER.match(one) and NUMBER.match(two) for one, two in zip(given, given[1:])):
                numbers.append(f"{place}: {', '.join(given)}")
    return bools, numbers


def problems(counts):
    for what, (count, most) in counts.items():
        if count > most:
            yield f"{count} {what}, {most} are allowed: give the new one a type (an enum class, Bytes ...); --list shows them"
        elif count < most:
            yield f"{count} {what}, {most} are allowed: lower the limit in check_signatures.py, so that it stays so"


def main():
    bools, numbers = findings(Path(sys.argv[1]))
    if "--list" in sys.argv[2:]:
        print(*bools, *numbers, sep="\n")
    found = list(problems({"bool parameters": (len(bools), MOST_BOOLS), "functions with adjacent numbers": (len(numbers), MOST_NUMBERS)}))
    print(*found, sep="\n", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
