#!/usr/bin/env python3
"""Writes what the module knows of options from the program's help: make_options.py HIGHWATER FOLDER

FOLDER is the package of the build. _keywords.pyi has the keywords of each function with their types and what they mean,
for type checkers and editors; _option_names.py the few lists that are needed when the module runs.
"""

from __future__ import annotations

import dataclasses
import keyword
import os
import re
import subprocess
import sys
from pathlib import Path

os.environ["HIGHWATER_CONFIG"] = ""  # no defaults of whoever runs this

ENTRY = re.compile(r"  (?:-\w \[ )?--([a-z0-9-]+)(?: \])?(\[=\S+\]| (?! )(?!\(=)\S+)?(?: \(=(\S+)\))?(?:  +(.*))?$")
#: Those that no keyword stands for: the module sets them itself, or has a parameter of its own.
HIDDEN = {"for", "help", "help-all", "format", "output", "model", "print-grid", "print-options", "shard",
          "stall-after"}
#: The functions about a plan, and those about a recording, by command.
OF_PLAN = {"simulate": "Simulate", "estimate": "Estimate", "plan": "Plan", "solve": "Solve", "chance": "Chance",
           "export": "Export"}
OF_FILE = {"replay": "Replay", "explain": "Explain", "advise": "Advise", "sweep": "Sweep", "info": "Info",
           "diff": "Diff", "report": "Report", "captures": "Captures", "reduce": "Reduce", "fit": "Fit"}
#: Those about many recordings.
OF_JOB = {"scan": "Scan", "validate": "Validate", "phases": "Phases"}
#: What `sweep` takes for a plan; its class.
PLAN_SWEEP = "sweep --model"
#: What several functions have; the last says what it means.
SHARED = {"TrainingOptions": ("plan", "export", "estimate", "solve", "chance", PLAN_SWEEP, "simulate"),
          "MemoryOptions": (PLAN_SWEEP, "simulate", "solve", "chance", "export", "explain", "advise", "sweep", "report",
                            "reduce", "replay"),
          "FileOptions": ("explain", "advise", "sweep", "report", "reduce", "replay")}
DRAWN = ("advise", "explain", "replay", "simulate", "sweep")
#: How the help calls a value, and what a keyword takes there. Others are words.
TYPES = {"": "bool", "[=BOOL]": "bool", "[=MASK]": "bool | str", "N": "int", "R": "int", "X": "float", "NORM": "float",
         "MIB": "float", "SIZE": "int | str", "NAME|SIZE": "int | str", "N[,N...]": "int | Sequence[int]",
         "A,B": "str | Sequence[str]", "NAME[,NAME]": "str | Sequence[str]", "R|all|representative": "int | str",
         "EDIT": "str | Sequence[str]", "HOW": "str | Sequence[str]", "KEY=V1,V2,...": "Mapping[str, object]", "FILE": "str | os.PathLike[str]", "DIR": "str | os.PathLike[str]",
         "SOURCE": "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]",
         "FILE|D": "str | os.PathLike[str]", "even|busiest:X|zipf:S|FILE": "str | os.PathLike[str]"}


@dataclasses.dataclass(frozen=True)
class Option:
    name: str
    value: str               # as the help calls it; empty for a switch
    default: str             # empty if it is among the paragraphs
    paragraphs: tuple[str, ...]

    @property
    def standard(self):
        """What holds where it is not given."""
        found = [re.match(r"default (.*?)(?: \(|$)", each) for each in self.paragraphs[1:]]
        return self.default or next((match[1] for match in found if match), "")

    @property
    def type(self):
        """A number that may be left out by a word takes words as well."""
        kind = TYPES.get(self.value, "str")
        takes_words = kind in ("int", "float") and (re.search(r"\bnone\b", self.paragraphs[0])
                                                    or self.standard and not self.standard[0].isdigit())
        return f"{kind} | str" if takes_words else kind

    @property
    def doc(self):
        first = self.paragraphs[0]
        return f"{first}; default {self.standard}" if self.standard and "default:" not in first else first


def keyword_of(name):
    word = name.replace("-", "_")
    return word + "_" if keyword.iskeyword(word) else word


def run(highwater, *words):
    return subprocess.run([highwater, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def help_of(highwater, command):
    for detail in ("--help-all", "--help"):
        answer = run(highwater, command, detail)
        if answer.returncode == 0:
            return answer.stdout
    sys.exit(f"{highwater} {command} --help: failed")


def paragraphs_of(lines):
    """Further lines of a paragraph stand in by two."""
    column, paragraphs = None, []
    for line in lines:
        column = len(line) - len(line.lstrip()) if column is None else column
        if line[:column + 1].strip():
            paragraphs.append(line.strip())
        else:
            paragraphs[-1] += " " + line.strip()
    return tuple(paragraphs)


def options_of(highwater, command):
    """{name: Option}, in the order of the help."""
    options, lines = {}, help_of(highwater, command).splitlines()
    for number, line in enumerate(lines):
        match = ENTRY.match(line)
        if match is None:
            continue
        name, value, default, _ = match.groups()
        end = next(n for n in range(number + 1, len(lines)) if not lines[n].startswith("    "))
        own = [" " * match.start(4) + match[4]] if match[4] else []
        options[name] = Option(name, (value or "").strip(), default or "", paragraphs_of([*own, *lines[number + 1:end]]))
    return options


def commands_of(highwater):
    answer = run(highwater, "--help")
    if answer.returncode != 0:
        sys.exit(f"{highwater} --help: failed")
    return re.findall(r"^  ([a-z]+)  +\S", answer.stdout.split("Version presets")[0], re.MULTILINE)


def listed(name, words):
    return f"{name} = frozenset({{\n" + "".join(f'    "{word}",\n' for word in sorted(words)) + "})\n"


def names_text(options):
    switches = {name for each in options.values() for name, option in each.items() if not option.value}
    other = {name for command in DRAWN for name in options[command]} - set(options["report"])
    return ('"""What the program\'s help says of its options; written by make_options.py."""\n\n'
            f"#: Those that take no value.\n{listed('SWITCHES', switches)}\n"
            f"#: Commands whose work can be cut into parts.\n"
            f"{listed('SHARDED', [name for name, each in options.items() if 'shard' in each])}\n"
            f"#: Those of the commands that a report draws, which the report itself lacks.\n"
            f"{listed('NOT_OF_REPORT', other | HIDDEN - {'model'})}")


def class_text(name, bases, options):
    head = f"class {name}({', '.join(bases or ['TypedDict'])}, total=False):"
    shown = [option for option in options if option.name not in HIDDEN]
    lines = [line for option in shown for line in (f"    {keyword_of(option.name)}: {option.type}", f'    """{option.doc}"""')]
    return "\n".join([head, *(lines or ["    pass"])]) + "\n"


def without_training(command, options):
    """What describes a plan says nothing of a file; a replay's release is one of both. fit takes no plan: all are its own."""
    if command == "fit":
        return dict(options[command])
    of_plan = set.intersection(*(set(options[each]) for each in OF_PLAN)) - set(options["replay"])
    return {name: option for name, option in options[command].items() if command in OF_PLAN or name not in of_plan}


def sweep_of_plan(options):
    """Without what describes a file alone."""
    of_file = set(options["replay"]) - set(options["simulate"])
    return {name: option for name, option in options["sweep"].items() if name not in of_file}


def keywords_text(options):
    """The classes of keywords: first what several functions have, then what each adds."""
    own = {command: without_training(command, options) for command in (*OF_PLAN, *OF_FILE)}
    own |= {command: options[command] for command in OF_JOB}
    own[PLAN_SWEEP] = sweep_of_plan(options)
    bases, classes = {command: [] for command in own}, []
    for name, commands in SHARED.items():
        shared = [option for key, option in own[commands[-1]].items() if all(key in own[each] for each in commands)]
        names = {option.name for option in shared}
        classes.append(class_text(name, (), shared))
        for command in commands:
            bases[command].append(name)
            own[command] = {key: option for key, option in own[command].items() if key not in names}
    classes += [class_text(f"{name}Options", bases[command], own[command].values())
                for command, name in (*OF_PLAN.items(), (PLAN_SWEEP, "PlanSweep"), *OF_FILE.items(), *OF_JOB.items())]
    return ('"""The keywords of each function, as the program\'s help has them; written by make_options.py."""\n\n'
            "import os\nfrom collections.abc import Mapping, Sequence\nfrom typing import TypedDict\n\n"
            + with_keywords("\n".join(classes), options))


def with_keywords(text, options):
    """Options by the names of their keywords."""
    known = {name for each in options.values() for name in each}
    return re.sub(r"--([a-z][a-z0-9-]*)", lambda found: f"`{keyword_of(found[1])}`" if found[1] in known else found[0], text)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    highwater, folder = sys.argv[1], Path(sys.argv[2])
    options = {command: options_of(highwater, command) for command in commands_of(highwater)}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "_option_names.py").write_text(names_text(options), encoding="utf-8")
    (folder / "_keywords.pyi").write_text(keywords_text(options), encoding="utf-8")


if __name__ == "__main__":
    main()
