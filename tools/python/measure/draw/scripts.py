"""The scripts of the drawn cases: those of the engine, for a drawn config."""

from highwater_engine import models, scripts

from .families import FAMILIES


def model_of(case):
    family = FAMILIES[case["family"]]
    block = (f"transformers.models.{case['family']}.modeling_{case['family']}", family.block)
    return models.of_transformers(family.auto_class, block, "CAUSAL_LM" if family.is_decoder else "SEQ_2_SEQ_LM")


def job_of(case):
    said = {name: case[name] for name in scripts.DEFAULTS if name in case}
    return {**scripts.DEFAULTS, **said, "model": model_of(case), "seq": (case["seq"],),
            "clip": 1.0 if case.get("clip") else None}


def plain_script(case):
    return scripts.plain_script(job_of(case))


def trainer_script(case):
    return scripts.trainer_script(job_of(case))


def sft_script(case):
    return scripts.sft_script(job_of(case))


def accelerate_script(case):
    return scripts.accelerate_script({**job_of(case), "sharding": "fsdp2"})
