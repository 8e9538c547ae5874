"""Published files and launch lines in a folder of checkouts, as cases.

A case is {"id", "program", "origin", "files": {name: text}, "argv": [...]}: what both readers are given. The folder holds
repositories as OWNER/NAME, none of which is part of this project.
"""

import dataclasses
import json
import re
import shlex
import tomllib
from pathlib import Path

import yaml

from .shell import ranks_of, started_words
from .toml_text import toml_text

# The name that the file gets, and the arguments that name it; programs without arguments are given the file.
FORMS = {"axolotl": ("axolotl.yaml", []), "llamafactory": ("train.yaml", []), "deepspeed": ("ds.json", []),
         "accelerate": ("accelerate.yaml", ["--config_file", "accelerate.yaml"]), "trl": ("trl.yaml", ["--config", "trl.yaml"]),
         "torchtitan": ("train.toml", ["--job.config_file", "train.toml"]), "megatron": ("model_config.yaml", []),
         "trainer": ("", [])}


@dataclasses.dataclass(frozen=True)
class Place:
    program: str
    repository: str
    pattern: str
    says: str = ""  # what the text has to contain


PLACES = (
    Place("axolotl", "axolotl-ai-cloud/axolotl", "examples/**/*.y*ml", "base_model"),
    Place("llamafactory", "hiyouga/LLaMA-Factory", "examples/**/*.yaml", "finetuning_type"),
    Place("trl", "huggingface/alignment-handbook", "recipes/**/sft/*.yaml"),
    Place("trl", "huggingface/open-r1", "recipes/**/sft/*.yaml"),
    Place("trl", "huggingface/trl", "examples/cli_configs/*.yaml"),
    Place("accelerate", "huggingface/accelerate", "**/*.y*ml", "distributed_type"),
    Place("accelerate", "huggingface/trl", "**/*.yaml", "distributed_type"),
    Place("accelerate", "huggingface/peft", "**/*.yaml", "distributed_type"),
    Place("accelerate", "huggingface/alignment-handbook", "**/*.yaml", "distributed_type"),
    Place("accelerate", "huggingface/open-r1", "**/*.yaml", "distributed_type"),
    Place("accelerate", "hiyouga/LLaMA-Factory", "**/*.yaml", "distributed_type"),
    Place("deepspeed", "deepspeedai/DeepSpeedExamples", "**/*.json", "zero_optimization"),
    Place("deepspeed", "hiyouga/LLaMA-Factory", "examples/**/*.json", "zero_optimization"),
    Place("deepspeed", "axolotl-ai-cloud/axolotl", "deepspeed_configs/*.json", "zero_optimization"),
    Place("deepspeed", "huggingface/accelerate", "**/*.json", "zero_optimization"),
    Place("deepspeed", "alibaba/Pai-Megatron-Patch", "**/*.json", "zero_optimization"),
    Place("torchtitan", "NousResearch/torchtitan", "**/*.toml", "[training]"),
    Place("torchtitan", "LambdaLabsML/torchtitan", "**/*.toml", "[training]"),
    Place("megatron", "NVIDIA/Megatron-LM", "tests/functional_tests/test_cases/gpt/**/model_config.yaml", "--train-"),
    Place("megatron", "NVIDIA/Megatron-LM", "tests/functional_tests/test_cases/moe/**/model_config.yaml", "--train-"),
    Place("megatron", "NVIDIA/Megatron-LM", "tests/functional_tests/test_cases/mixtral/**/model_config.yaml", "--train-"),
    Place("trl", "huggingface/trl", "**/*.md", "sft"),
    Place("trl", "huggingface/trl", "trl/scripts/sft.py"),
    Place("trl", "huggingface/trl", "examples/scripts/sft*.py"),
    Place("trl", "huggingface/peft", "examples/sft/*.sh"),
    Place("megatron", "NVIDIA/Megatron-LM", "examples/**/*.sh"),
    Place("megatron", "alibaba/Pai-Megatron-Patch", "**/*.sh"),
    Place("trainer", "deepspeedai/DeepSpeedExamples", "**/*.sh"),
    Place("trainer", "deepspeedai/DeepSpeedExamples", "**/*.md"),
    Place("trl", "huggingface/peft", "docs/**/*.md"),
    Place("trainer", "huggingface/peft", "examples/**/*.md"),
    Place("trainer", "huggingface/accelerate", "**/*.md"),
    Place("trainer", "hiyouga/LLaMA-Factory", "**/*.sh"),
    Place("trainer", "philschmid/deep-learning-pytorch-huggingface", "**/*.sh"),
    Place("trainer", "shibing624/MedicalGPT", "scripts/*.sh"),
    Place("trainer", "shibing624/MedicalGPT", "*.sh"),
    Place("trainer", "lm-sys/FastChat", "scripts/*.sh"),
    Place("trainer", "OptimalScale/LMFlow", "scripts/**/*.sh"),
    Place("trainer", "meta-math/MetaMath", "*.sh"),
)
LINE = re.compile(r"^\s*(?:[A-Z_]+=\S+ +)*(?:accelerate launch|torchrun|deepspeed|python3?|trl sft)\b")
SCRIPTS = {"trl": re.compile(r"(\bsft\w*\.py|\btrl sft|\btrain\.py)\b"), "trainer": re.compile(r"\b\w+\.py\b"),
           "megatron": re.compile(r"\bpretrain_(gpt|llama|qwen|mixtral)\w*\.py\b")}
NEEDED = {"trainer": "--per_device_train_batch_size", "trl": "--", "megatron": "--num-layers"}
FILES_OF_ITS_OWN = ("--config", "--deepspeed", "--fsdp_config", "--yaml-cfg")  # the reader would look for them
TITAN_SECTIONS = {"job", "profiling", "metrics", "model", "optimizer", "lr_scheduler", "training", "parallelism", "checkpoint",
                  "activation_checkpoint", "compile", "quantize", "comm", "memory_estimation", "fault_tolerance",
                  "experimental", "validation", "debug"}
UNKNOWN = re.compile(r"[$<>`|]")  # a variable or a blank that the reader fills in: nothing to compare


def lines_of(text):
    """Launch lines, with the lines that they go on to."""
    joined = text.replace("\\\n", " ")
    return [line.strip() for line in joined.split("\n") if LINE.match(line) and "--" in line]


def arguments_of(program, words):
    """What stands behind the script; None where it is not the program's, or has parts to be filled in."""
    places = [number for number, word in enumerate(words) if SCRIPTS[program].search(word)]
    if words[:2] == ["trl", "sft"]:
        places = [1]
    behind = words[places[0] + 1:] if places else []
    named = [word.split("=")[0] for word in behind]
    if not any(word.startswith(NEEDED[program]) for word in named) or set(FILES_OF_ITS_OWN) & set(named):
        return None
    return None if any(UNKNOWN.search(word) for word in behind) else behind


def script_of(words, arguments):
    """The line up to the arguments, without its launcher."""
    before = words[:len(words) - len(arguments)]
    return "trl sft" if before[:2] == ["trl", "sft"] else f"python {before[-1]}"


def has_another_parser(program, path, words):
    """Whether the script, which lies beside the document, makes a parser of its own."""
    script = next((path.parent / word for word in words if SCRIPTS[program].search(word)), None)
    text = script.read_text(errors="replace") if script is not None and script.is_file() else ""
    return program == "trainer" and "ArgumentParser(" in text and "HfArgumentParser" not in text


def split_line(line):
    try:
        return shlex.split(line, comments=True)
    except ValueError:
        return []


def case_of(program, origin, files, argv):
    return {"id": f"{program}:{origin}", "program": program, "origin": origin, "files": files, "argv": argv}


def cases_of_lines(place, path, origin):
    for number, line in enumerate(lines_of(path.read_text(errors="replace")), 1):
        words = split_line(line)
        arguments = arguments_of(place.program, words)
        if arguments and not has_another_parser(place.program, path, words):
            yield {**case_of(place.program, f"{origin}#{number}", {}, arguments), "script": script_of(words, arguments)}


def cases_of_script(place, path, origin):
    """The script itself for --from, what bash makes of it for the program."""
    text = path.read_text(errors="replace")
    if SCRIPTS[place.program].search(text) or "trl sft" in text:
        for words in started_words(text)[:1]:
            arguments = arguments_of(place.program, words)
            if arguments and not has_another_parser(place.program, path, words):
                yield {**case_of(place.program, origin, {"train.sh": text}, arguments), "gpus": ranks_of(words),
                       "script": script_of(words, arguments)}


def mapping_of(program, text):
    if program == "deepspeed":
        return json.loads(text)
    return tomllib.loads(text) if program == "torchtitan" else yaml.safe_load(text)


def is_readable(program, text):
    """Whether the text is one mapping of its format, which has arguments."""
    try:
        read = mapping_of(program, text)
    except (ValueError, yaml.YAMLError):
        return False
    return isinstance(read.get("MODEL_ARGS") if program == "megatron" and isinstance(read, dict) else read, dict)


def is_whole(program, text):
    """DeepSpeed's "auto" is filled in by Trainer."""
    return program != "deepspeed" or '"auto"' not in text


def without_others(program, text):
    """Of torchtitan's files, the sections of 0.2.2: forks have more."""
    if program != "torchtitan":
        return text
    return toml_text({name: part for name, part in mapping_of(program, text).items() if name in TITAN_SECTIONS})


def cases_of_file(place, path, origin):
    text = path.read_text(errors="replace")
    name, argv = FORMS[place.program]
    if place.says in text and is_readable(place.program, text) and is_whole(place.program, text):
        text = without_others(place.program, text)
        yield case_of(place.program, origin, {name: text}, list(argv))


READERS = {".md": cases_of_lines, ".py": cases_of_lines, ".sh": cases_of_script}


def published_cases(folder):
    """All cases, in one order."""
    found = {}
    for place in PLACES:
        for path in sorted((Path(folder) / place.repository).glob(place.pattern)):
            origin = f"{place.repository}/{path.relative_to(Path(folder) / place.repository)}"
            read = READERS.get(path.suffix, cases_of_file)
            found.update({case["id"]: case for case in read(place, path, origin)})
    return list(found.values())
