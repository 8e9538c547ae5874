"""Prints a torchtitan job (its Python configs, 2026 on) as JSON on the standard output.

    python torchtitan_config.py [--module M --config C] [--training.seq_len 4096 ...]
    python torchtitan_config.py FILE.py[:function] [overrides]

The words are those of torchtitan's own launch line. Nothing is built: no GPU, no process group.
Read: torchtitan/config/manager.py (ConfigManager), config/configurable.py (Config).
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import importlib.metadata
import importlib.util
import inspect
import json
import os
import sys
from typing import Any

EXIT_USAGE = 2
EXIT_INPUT = 3


def kind_of(value: Any) -> str:
    """Class of a config, with the class it is nested in: SelectiveAC.Config."""
    return type(value).__qualname__


def plain(value: Any) -> Any:
    """What JSON can hold; a config says its class under "class"."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        named = {
            field.name: plain(getattr(value, field.name, None))
            for field in dataclasses.fields(value)
            if not field.name.startswith("_")
        }
        return {"class": kind_of(value), **named}
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(each) for each in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return getattr(value, "__qualname__", None) or type(value).__name__


def first_of(layers: list[Any], name: str) -> Any:
    """A part that the first layers may lack, as the experts of a mixture."""
    return next((part for part in (getattr(layer, name, None) for layer in layers) if part), None)


def attention_facts(attention: Any) -> dict[str, Any]:
    names = (
        "n_heads",
        "n_kv_heads",
        "head_dim",
        "q_lora_rank",
        "kv_lora_rank",
        "qk_nope_head_dim",
        "qk_rope_head_dim",
        "v_head_dim",
    )
    facts = {name: getattr(attention, name, None) for name in names}
    facts["class"] = kind_of(attention)
    facts["inner"] = kind_of(getattr(attention, "inner_attention", None))
    return facts


def width_of(linear: Any, name: str = "out_features") -> int | None:
    return getattr(linear, name, None)


def model_facts(spec: Any) -> dict[str, Any] | None:
    """Sizes of the decoder, without one entry for each layer."""
    model = getattr(spec, "model", None)
    if model is None:
        return None
    layers = list(getattr(model, "layers", None) or [])
    facts: dict[str, Any] = {
        "name": getattr(spec, "name", None),
        "flavor": getattr(spec, "flavor", None),
        "class": kind_of(model),
        "hidden_size": getattr(model, "dim", None),
        "vocab_size": getattr(model, "vocab_size", None),
        "layers": len(layers),
        "tied": getattr(model, "enable_weight_tying", False),
    }
    if layers:
        attention = first_of(layers, "attention")
        feed_forward = first_of(layers, "feed_forward")
        experts = first_of(layers, "moe")
        facts["attention"] = attention_facts(attention)
        facts["mlp_size"] = width_of(getattr(feed_forward, "w1", None))
        facts["dense_layers"] = sum(getattr(layer, "moe", None) is None for layer in layers)
        facts["experts"] = expert_facts(experts)
    facts["converters"] = converters_of(model)
    facts["config"] = llama_config(facts)
    return facts


def expert_facts(experts: Any) -> dict[str, Any] | None:
    if experts is None:
        return None
    routed = getattr(experts, "routed_experts", experts)
    inner = getattr(routed, "inner_experts", None)
    shared = getattr(experts, "shared_experts", None)
    return {
        "class": kind_of(experts),
        "number": getattr(experts, "num_experts", None),
        "top_k": getattr(getattr(experts, "router", None), "top_k", None),
        "size": getattr(inner, "hidden_dim", None),
        "shared_size": width_of(getattr(shared, "w1", None)),
    }


def llama_config(facts: dict[str, Any]) -> dict[str, Any] | None:
    """transformers' config.json of a Llama 3; other decoders have no such file here."""
    attention = facts.get("attention")
    if facts["class"] != "Llama3Model.Config" or attention is None:
        return None
    return {
        "model_type": "llama",
        "hidden_size": facts["hidden_size"],
        "intermediate_size": facts["mlp_size"],
        "num_hidden_layers": facts["layers"],
        "num_attention_heads": attention["n_heads"],
        "num_key_value_heads": attention["n_kv_heads"] or attention["n_heads"],
        "vocab_size": facts["vocab_size"],
        "tie_word_embeddings": facts["tied"],
    }


def converters_of(model: Any) -> list[str]:
    """Classes of linear layers that are not torchtitan's plain one: float8, MX, LoRA."""
    found: set[str] = set()

    def look(value: Any) -> None:
        if dataclasses.is_dataclass(value):
            name = kind_of(value)
            if "Linear" in name or "GroupedExperts" in name or "LoRA" in name:
                found.add(name)
            for field in dataclasses.fields(value):
                look(getattr(value, field.name, None))
        elif isinstance(value, (list, tuple)):
            for each in value:
                look(each)

    look(model)
    return sorted(found)


def config_of_file(path: str, function: str) -> Any:
    """Calls a function of a file of your own, which must return a Trainer.Config.

    Meanwhile its folder comes first, as under `python FILE.py`; torchtitan's own imports come from where it is installed.
    """
    folder = os.path.dirname(os.path.abspath(path))
    sys.path.insert(0, folder)
    try:
        return called(path, function)
    finally:
        sys.path.remove(folder)


def called(path: str, function: str) -> Any:
    spec = importlib.util.spec_from_file_location("job", path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules["job"] = module
    spec.loader.exec_module(module)
    names = functions_of(module)
    if not function and len(names) == 1:
        function = names[0]
    if function not in names:
        wanted = f"has no function {function}" if function else "has several configurations"
        raise ValueError(f"{path} {wanted}; name one of {', '.join(names)} as {path}:FUNCTION")
    return getattr(module, function)()


def functions_of(module: Any) -> list[str]:
    """What a file defines itself and what needs no arguments."""
    own = {name: each for name, each in vars(module).items() if inspect.isfunction(each)}
    return sorted(
        name for name, each in own.items() if each.__module__ == "job" and not inspect.signature(each).parameters
    )


def loaded(arguments: list[str]) -> Any:
    """The job as torchtitan's train.py would see it."""
    manager = importlib.import_module("torchtitan.config.manager")
    words = list(arguments)
    if words and not words[0].startswith("-"):
        path, _, function = words.pop(0).partition(".py")
        path, function = f"{path}.py", function.removeprefix(":")
        job = config_of_file(path, function)
        parser = manager.ConfigManager()
        parser._load_config = lambda rest: (job, rest)  # the launch line names no module
        return parser.parse_args(words)
    return manager.ConfigManager().parse_args(words)


def release() -> str:
    try:
        return importlib.metadata.version("torchtitan")
    except importlib.metadata.PackageNotFoundError:
        return ""


def shorten_optimizers(section: Any) -> None:
    """Names of the optimizers that have arguments of their own; Muon's name every parameter."""
    arguments = "optimizer_factory_kwargs_by_name"
    if isinstance(section, dict) and isinstance(section.get(arguments), dict):
        section[arguments] = sorted(section[arguments])


def described(job: Any) -> dict[str, Any]:
    fields = [field.name for field in dataclasses.fields(job) if not field.name.startswith("_")]
    sections = {name: plain(getattr(job, name)) for name in fields if name != "model_spec"}
    shorten_optimizers(sections.get("optimizer"))
    return {
        "program": "torchtitan",
        "release": release(),
        "model": model_facts(getattr(job, "model_spec", None)),
        "job": {"class": kind_of(job), **sections},
    }


def cause_of(problem: BaseException) -> str:
    """A missing package, say, behind torchtitan's own words."""
    cause = problem.__cause__ or problem.__context__
    return f" ({cause})" if cause else ""


def job_text(arguments: list[str]) -> tuple[int, str]:
    """The exit status, and the job in JSON."""
    if not arguments:
        print(__doc__, file=sys.stderr)
        return EXIT_USAGE, ""
    try:
        with contextlib.redirect_stdout(sys.stderr):  # what torchtitan prints does not belong to the answer
            job = described(loaded(arguments))
    except SystemExit as stop:  # tyro ends the process where a word is unknown
        return (EXIT_USAGE if stop.code else 0), ""
    except (ImportError, ValueError, OSError) as problem:
        print(f"torchtitan: {problem}{cause_of(problem)}", file=sys.stderr)
        return EXIT_INPUT, ""
    return 0, json.dumps(job, indent=1, allow_nan=False) + "\n"


def main(arguments: list[str]) -> int:
    status, text = job_text(arguments)
    sys.stdout.write(text)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
