"""A plan in the options of `highwater simulate` becomes a job: a script, the files beside it, how many ranks.

Every option of the plan that differs from its framework's default must be read, or the job is refused: a run that
ignored one would answer another question.
"""
import dataclasses
import os

from . import architectures, lengths, sources
from .given import WORDS, given, require_fed, require_varying
from .models import of_transformers
from .plan import Job as Job
from .plan import Plan, Refused
from .readers import FRAMEWORKS

GPUS_PER_NODE = 8

# Options that only describe the run that is simulated, or are meant for the simulated device.
_READ_ELSEWHERE = ("model", "gpu", "torch", "transformers", "framework", "moe_load", "moe_imbalance", "model_code",
                   "num_labels", "event_lag", "cudnn_workspaces", "context", "engine", "python", "deepspeed", "torchtitan", "varied_inputs", *WORDS)


def require_loop(plan):
    """@raises Refused"""
    framework = plan["framework"]
    if framework not in FRAMEWORKS:
        raise Refused(f"--framework {framework}: --engine torch runs {', '.join(FRAMEWORKS)}; use one of these, "
                      "or --engine model")
    if plan["model_code"] != ("torchtitan" if framework == "torchtitan" else "hf"):
        raise Refused(f"--model-code {plan['model_code']}: --engine torch runs transformers' models; omit it, or use "
                      "--engine model")
    plan.one_of("data", "to")


class _ModelAsked(Exception):
    """What comes next depends on the model."""


class _UnseenFiles(dict):
    """Those of a model that nobody has looked at: its config.json says what can be split."""

    def _asked(self, *_):
        raise _ModelAsked

    __contains__ = __getitem__ = get = _asked


# It takes every option, so that what is refused is refused for all models.
_ANY_MODEL = dataclasses.replace(of_transformers("AutoModel", ("any", "Block")), mask="attention_mask", targets=True,
                                 sizes=frozenset(WORDS), varies=True, files=_UnseenFiles())


def require_plan(plan):
    """What is refused whatever the model, and so before torch is loaded, which takes half a minute. @raises Refused"""
    require_loop(plan)
    try:
        make(plan, _ANY_MODEL)
    except Refused:
        raise
    except Exception:  # its reader wants to know more of the model
        pass


def make(plan, model):
    """@raises Refused"""
    plan.ignore(_READ_ELSEWHERE)
    require_loop(plan)
    for name in model.fixes:
        if plan.is_changed(name):
            raise Refused(f"--{name}: {model.name} makes its own batch; give the function a parameter '{name}', or omit "
                          "the option")
    require_fed(plan, model)
    require_varying(plan, model)
    if model.turns and plan["framework"] not in ("hf", "torch"):
        raise Refused(f"--framework {plan['framework']}: the models of {model.name} take turns in a loop of the script's own; use --framework hf")
    job = FRAMEWORKS[plan["framework"]](plan, model)
    plan.require_all_read()
    return dataclasses.replace(job, note=lengths.note(plan, model), assumed=model.assumed)


def variables(job, rank):
    """What torchrun sets for this rank."""
    if job.ranks == 1 and not job.is_launched:
        return dict(job.environment)
    local = min(job.ranks, GPUS_PER_NODE)
    return {**job.environment, "RANK": str(rank), "WORLD_SIZE": str(job.ranks), "LOCAL_RANK": str(rank % local),
            "LOCAL_WORLD_SIZE": str(local), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500",
            "HIGHWATER_RECORD_WORLD_SIZE": str(job.ranks), "HIGHWATER_RECORD_RANK": str(rank),
            "FAKE_CUDA_DEVICES": str(local)}


def models_of(named, labels=0, loss="hf"):
    """The ways to train a model, the likeliest first. labels: of a head that sorts, or 0. @raises UnknownModel"""
    if loss == "contrastive":
        if "config" not in named:
            raise Refused("--loss contrastive: encoders of transformers learn from pairs of texts; omit it")
        return [architectures.encoder_of(named["config"], given(named))]
    if "config" in named:
        return architectures.models_of(named["config"], given(named), labels)
    if labels and not sources.has_head(named):
        raise Refused(f"--num-labels {labels}: {named['python']} makes its own head; omit it")
    return sources.models_of(named, labels)


def from_request(request):
    """The jobs that carry out the plan, the likeliest first.

    request: {"options": ..., "changed": [...], "model": ...}. @raises Refused, UnknownModel
    """
    jobs, refusal = [], None
    options = request["options"]
    teacher = models_of(request["teacher"])[0] if "teacher" in request else None
    for way, model in enumerate(models_of(request["model"], options.get("num_labels", 0), options.get("loss"))):
        try:
            jobs.append(dataclasses.replace(make(Plan(options, request["changed"], teacher), model), way=way))
        except Refused as problem:
            refusal = refusal or problem
    if not jobs:
        raise refusal
    return jobs


def write(job, folder):
    for name, text in {**job.files, "train.py": job.script}.items():
        os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
