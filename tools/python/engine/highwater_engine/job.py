"""A plan in the options of `highwater simulate` becomes a job: a script, the files beside it, how many ranks.

Every option of the plan that differs from its framework's default must be read here, or the job is refused: a run that
ignored one would answer another question.
"""
import dataclasses
import json

from . import architectures, scripts

GPUS_PER_NODE = 8


class Refused(Exception):
    """This engine cannot carry out the plan; the message is a sentence for the user."""


@dataclasses.dataclass
class Job:
    script: str
    files: dict          # name -> text, beside the script
    ranks: int = 1
    environment: dict = dataclasses.field(default_factory=dict)


class Plan:
    """options: all of them; changed: the names of those that differ from the defaults of the plan's framework."""

    def __init__(self, options, changed):
        self._options = options
        self._unread = set(changed)

    def __getitem__(self, name):
        self._unread.discard(name)
        return self._options[name]

    def is_changed(self, name):
        return name in self._unread

    def require_all_read(self):
        if self._unread:
            names = ", ".join("--" + name.replace("_", "-") for name in sorted(self._unread))
            raise Refused(f"{names}: --engine torch does not pass this on to the script; omit it, or use --engine model")


# Options that only describe the run that is simulated, or are meant for the simulated device.
_READ_ELSEWHERE = ("model", "gpu", "torch", "transformers", "framework", "moe_load", "moe_imbalance", "model_code",
                   "event_lag", "event_queries", "steps", "data", "engine", "python", "experts", "mode", "deepspeed",
                   "torchtitan", "megatron")


def make(plan, model):
    """@raises Refused"""
    for name in _READ_ELSEWHERE:
        plan[name] if name in plan._options else None
    framework = plan["framework"]
    writer = _FRAMEWORKS.get(framework)
    if writer is None:
        raise Refused(f"--framework {framework}: --engine torch runs {', '.join(_FRAMEWORKS)}; use one of these, "
                      "or --engine model")
    if plan["model_code"] != "hf":
        raise Refused(f"--model-code {plan['model_code']}: --engine torch runs transformers' models; omit it, or use "
                      "--engine model")
    if plan["data"] != "to":
        raise Refused("--data device: --engine torch makes batches on the host; omit it, or use --engine model")
    job = writer(plan, architectures.model_of(model))
    plan.require_all_read()
    return job


def _optional(value):
    return None if value in (None, "none", "default") else value


def _precision(plan):
    """(dtype of the weights, of autocast)"""
    precision = plan["precision"]
    if precision == "bf16+amp":
        return "bf16", "bf16"
    return ("fp32", precision.removeprefix("amp-")) if precision.startswith("amp-") else (precision, None)


def _common(plan, model):
    """What the loops share."""
    weights, autocast = _precision(plan)
    batch, accumulate = plan["batch"], plan["grad_accum"]
    lengths = plan["seq"] if isinstance(plan["seq"], list) else [plan["seq"]]
    checkpoint = plan["checkpoint"]
    if checkpoint not in ("none", "full"):
        raise Refused(f"--checkpoint {checkpoint}: --engine torch knows none and full; use one of these, "
                      "or --engine model")
    attention = plan["attention"]
    if attention not in ("sdpa", "eager"):
        raise Refused(f"--attention {attention}: --engine torch knows sdpa and eager; use one of these, or --engine model")
    job = {**scripts.DEFAULTS, "model": model, "batch": batch, "seq": tuple(lengths),
           "examples": batch * accumulate * plan["steps"], "weights": weights, "autocast": autocast,
           "attention": attention if attention != "sdpa" else None,
           "checkpoint": checkpoint == "full", "reentrant": plan["checkpoint_impl"] == "reentrant",
           "lora": plan["lora"], "lora_targets": _targets(plan), "lora_dropout": plan["lora_dropout"],
           "accumulate": accumulate, "no_sync": plan["no_sync"], "optimizer": plan["optimizer"],
           "clip": _optional(plan["grad_clip"]), "mask": _mask(plan), "training": plan["mode"] == "train"}
    if plan["dropout"] is not None:
        raise Refused("--dropout: --engine torch takes the model's own probabilities; set them in its config.json")
    return job


def _targets(plan):
    named = plan["lora_targets"] if "lora_targets" in plan._options else None
    return tuple(named.split(",")) if named else ()


def _mask(plan):
    mask = plan["attention_mask"]
    if mask == "padded":
        raise Refused("--attention-mask padded: --engine torch gives full masks; use full, or --engine model")
    return mask not in (False, None, "none")


def _plain(plan, model):
    job = _common(plan, model)
    init = plan["init"]
    loss = plan["loss"]
    if loss != "hf":
        raise Refused(f"--loss {loss}: --engine torch leaves the loss to the model; omit it, or use --engine model")
    if init not in ("cpu", "device", "meta"):
        raise Refused(f"--init {init}: --engine torch knows cpu and device; use one of these, or --engine model")
    prepare = model.prepare
    if not plan["use_cache"] and model.has_config:
        prepare = scripts.text(prepare, "config.use_cache = False")
    job.update(
        model=dataclasses.replace(model, prepare=prepare), init=init, keeps_outputs=plan["keep_logits"],
        names_tensors=plan["framework"] == "torch" and not model.data,
        implementation=_optional(plan["optimizer_impl"]), param_groups=plan["param_groups"],
        zeroes_at=plan["zero_grad_at"], set_to_none=plan["set_to_none"], empties_cache=plan["empty_cache_every_step"],
        **_sharding(plan, init))
    return Job(scripts.plain_script(job), model.files, job["ranks"])


def _sharding(plan, init):
    """How a plain script spreads the model over ranks."""
    _require_one(plan, "tp", "pp", "cp", "ep", "dp_replicate")
    ranks, kind = plan["dp"], plan["dp_kind"]
    if ranks == 1 and kind == "ddp":
        return {"sharding": "none", "ranks": 1}
    if kind == "ddp":
        given = {"bucket_cap_mb": _optional(plan["bucket_cap_mb"]), "gradient_as_bucket_view": plan["bucket_view"],
                 "static_graph": plan["static_graph"], "find_unused_parameters": plan["find_unused_parameters"]}
        return {"sharding": "ddp", "ranks": ranks,
                "ddp": "".join(f", {name}={value}" for name, value in given.items() if value)}
    if kind not in ("fsdp1", "fsdp2"):
        raise Refused(f"--dp-kind {kind}: --engine torch runs ddp, fsdp1 and fsdp2; use one of these, or --engine model")
    types = {name: _optional(plan[name]) for name in ("param_dtype", "reduce_dtype")}
    if kind == "fsdp1" and types["param_dtype"] and not types["reduce_dtype"]:
        types["reduce_dtype"] = types["param_dtype"]
    return {"sharding": kind, "ranks": ranks, **types, "reshard": {"always": None, "never": False}.get(plan["reshard"]),
            "strategy": _strategy(plan)}


def _strategy(plan):
    """Further keywords of FullyShardedDataParallel."""
    given = ""
    if plan["strategy"] != "full_shard":
        given += f", sharding_strategy=ShardingStrategy.{plan['strategy'].upper()}"
    if not plan["limit_all_gathers"]:
        given += ", limit_all_gathers=False"
    if plan["forward_prefetch"]:
        given += ", forward_prefetch=True"
    return given or None


def _require_one(plan, *axes):
    for axis in axes:
        if plan[axis] != 1:
            raise Refused(f"--{axis.replace('_', '-')} {plan[axis]}: --engine torch spreads a plan over data-parallel "
                          "ranks only; omit it, or use --engine model")


def _trainer(plan, model):
    job = _common(plan, model)
    _require_one(plan, "tp", "pp", "cp", "ep", "dp_replicate")
    for name in ("optimizer_impl", "param_groups", "init", "find_unused_parameters", "keep_logits", "use_cache", "loss",
                 "reduce_dtype", "param_dtype"):
        if not plan.is_changed(name):
            plan[name]
    kind, ranks = plan["dp_kind"], plan["dp"]
    if kind not in ("ddp", "fsdp2"):
        raise Refused(f"--dp-kind {kind}: --engine torch runs Trainer with ddp and fsdp2; use one of these")
    arguments = [f"max_steps={plan['steps']}"]
    if plan.is_changed("grad_clip"):
        arguments.append(f"max_grad_norm={job['clip'] or 0}")
    sharding = kind if ranks > 1 or kind == "fsdp2" else "none"
    job.update(arguments=arguments, sharding=sharding, ranks=ranks, examples=job["examples"] * ranks)
    return Job(scripts.trainer_script(job), model.files, ranks)


def _sft(plan, model):
    job = _trainer(plan, model)  # which checks the same options
    shared = _common(plan, model)
    shared.update(arguments=[f"max_steps={plan['steps']}"], ranks=job.ranks)
    return Job(scripts.sft_script(shared), {**model.files, **scripts.tokenizer_files()}, job.ranks)


def _accelerate(plan, model):
    job = _common(plan, model)
    _require_one(plan, "tp", "pp", "cp", "ep", "dp_replicate")
    for name in ("dp_kind", "keep_logits", "use_cache", "init", "fsdp_units", "reshard", "param_dtype", "reduce_dtype"):
        if not plan.is_changed(name):
            plan[name]
    job.update(ranks=plan["dp"], implementation=_optional(plan["optimizer_impl"]), autocast="bf16", weights="fp32")
    files = {**model.files, **scripts.fsdp_file(model.block[1], plan["dp"])}
    return Job(scripts.accelerate_script(job), files, plan["dp"],
               environment={"ACCELERATE_CONFIG_FILE": "fsdp.yaml"})


_FRAMEWORKS = {"hf": _plain, "torch": _plain, "trainer": _trainer, "trl-sft": _sft}


def variables(job, rank):
    """What torchrun sets for this rank."""
    if job.ranks == 1:
        return dict(job.environment)
    local = min(job.ranks, GPUS_PER_NODE)
    return {**job.environment, "RANK": str(rank), "WORLD_SIZE": str(job.ranks), "LOCAL_RANK": str(rank % local),
            "LOCAL_WORLD_SIZE": str(local), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500",
            "HIGHWATER_RECORD_WORLD_SIZE": str(job.ranks), "HIGHWATER_RECORD_RANK": str(rank),
            "FAKE_CUDA_DEVICES": str(local)}


def from_request(request):
    """request: {"options": ..., "changed": [...], "model": ...}. @raises Refused"""
    return make(Plan(request["options"], request["changed"]), request["model"])


def write(job, folder):
    for name, text in {**job.files, "train.py": job.script}.items():
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.write(text)


def describe(job):
    return json.dumps(dataclasses.asdict(job))
