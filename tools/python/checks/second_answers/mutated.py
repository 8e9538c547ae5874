"""Cases made of published ones: one to three keys dropped, added or given another value (keys.json)."""

import copy
import json
from pathlib import Path

import yaml

from .published import mapping_of
from .toml_text import toml_text

KEYS = json.loads(Path(__file__).with_name("keys.json").read_text())


def written_mapping(program, values):
    if program == "deepspeed":
        return json.dumps(values, indent=2)
    return toml_text(values) if program == "torchtitan" else yaml.safe_dump(values, sort_keys=False)


def with_value(values, key, value):
    """Of a key whose parts are parted by dots, the sections between made as needed."""
    *sections, last = key.split(".")
    for section in sections:
        if not isinstance(values.get(section), dict):
            values[section] = {}
        values = values[section]
    values[last] = value


def without_key(values, key):
    *sections, last = key.split(".")
    for section in sections:
        values = values.get(section)
        if not isinstance(values, dict):
            return
    values.pop(last, None)


def has_key(values, key):
    for part in key.split("."):
        if not isinstance(values, dict) or part not in values:
            return False
        values = values[part]
    return True


def changed_mapping(rng, program, values, changes):
    known = KEYS[program]
    for _ in range(rng.randint(1, 3)):
        present = [key for key in known if has_key(values, key)]
        if present and rng.random() < 0.25:
            key = rng.choice(present)
            without_key(values, key)
            changes.append(f"-{key}")
            continue
        key = rng.choice(list(known))
        value = rng.choice(known[key])
        with_value(values, key, value)
        changes.append(f"{key}={value}")
    return values


def arguments_without(argv, option):
    """The line without the option and its values."""
    kept, is_dropped = [], False
    for word in argv:
        if word.startswith("--"):
            is_dropped = word.split("=")[0] == option
        if not is_dropped:
            kept.append(word)
    return kept


def words_of(program, option, value):
    """Megatron's parser has flags, the others take true and false."""
    if program == "megatron" and isinstance(value, bool):
        return [option] if value else []
    return [option, str(value)]


def changed_line(rng, program, argv, changes):
    known = KEYS[program]
    for _ in range(rng.randint(1, 3)):
        key = rng.choice(list(known))
        option = key if key.startswith("--") else f"--{key}"
        argv = arguments_without(argv, option)
        if rng.random() < 0.2:
            changes.append(f"-{key}")
            continue
        value = rng.choice(known[key])
        argv = [*argv, *words_of(program, option, value)]
        changes.append(f"{key}={value}")
    return argv


def mutated_case(rng, case):
    """The case with its changes, which its origin names."""
    case, changes = copy.deepcopy(case), []
    program = case["program"]
    if "train.sh" in case["files"]:
        case["files"] = {}  # its words are changed, as a launch line
    if case["files"]:
        name, = case["files"]
        values = mapping_of(program, case["files"][name])
        part = values["MODEL_ARGS"] if program == "megatron" else values
        changed_mapping(rng, program, part, changes)
        case["files"][name] = written_mapping(program, values)
    else:
        case["argv"] = changed_line(rng, program, case["argv"], changes)
    return {**case, "origin": f"{case['origin']} {' '.join(changes)}", "changes": changes}
