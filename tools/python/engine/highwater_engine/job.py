"""A plan in the options of `highwater simulate` becomes a job: a script, the files beside it, how many ranks.

Every option of the plan that differs from its framework's default must be read here, or the job is refused: a run that
ignored one would answer another question.
"""
import dataclasses

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
        self._changed = frozenset(changed)
        self._unread = set(changed)

    def __getitem__(self, name):
        self._unread.discard(name)
        return self._options[name]

    def ignore(self, names):
        """What somebody else reads."""
        self._unread.difference_update(names)

    def is_changed(self, name):
        return name in self._changed

    def one_of(self, name, *words):
        """The value, if the script can say it. @raises Refused"""
        value = self[name]
        if value not in words:
            known = ", ".join(str(word) for word in words)
            raise Refused(f"--{name.replace('_', '-')} {value}: --engine torch knows {known}; use one of these, "
                          "or --engine model")
        return value

    def refuse_changed(self, *names):
        """Options that the program itself decides, or that this engine leaves as they are. @raises Refused"""
        for name in names:
            if self.is_changed(name):
                raise Refused(f"--{name.replace('_', '-')}: --engine torch leaves this to the framework; omit it, "
                              "or use --engine model")

    def require_all_read(self):
        if self._unread:
            names = ", ".join("--" + name.replace("_", "-") for name in sorted(self._unread))
            raise Refused(f"{names}: --engine torch does not pass this on to the script; omit it, or use --engine model")


# Options that only describe the run that is simulated, or are meant for the simulated device.
_READ_ELSEWHERE = ("model", "gpu", "torch", "transformers", "framework", "moe_load", "moe_imbalance", "model_code",
                   "event_lag", "engine", "python", "deepspeed", "torchtitan")


def make(plan, model):
    """@raises Refused"""
    plan.ignore(_READ_ELSEWHERE)
    framework = plan["framework"]
    writer = _FRAMEWORKS.get(framework)
    if writer is None:
        raise Refused(f"--framework {framework}: --engine torch runs {', '.join(_FRAMEWORKS)}; use one of these, "
                      "or --engine model")
    if plan["model_code"] != "hf":
        raise Refused(f"--model-code {plan['model_code']}: --engine torch runs transformers' models; omit it, or use "
                      "--engine model")
    plan.one_of("data", "to")
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
    checkpoint = plan.one_of("checkpoint", "none", "full")
    attention = plan.one_of("attention", "sdpa", "eager")
    optimizer = plan.one_of("optimizer", *scripts.OPTIMIZERS, "none")
    job = {**scripts.DEFAULTS, "model": model, "batch": batch, "seq": tuple(lengths),
           "examples": batch * accumulate * plan["steps"], "weights": weights, "autocast": autocast,
           "attention": attention if attention != "sdpa" else None,
           "checkpoint": checkpoint == "full", "reentrant": plan["checkpoint_impl"] == "reentrant",
           "lora": plan["lora"], "lora_targets": _targets(plan), "lora_dropout": plan["lora_dropout"],
           "accumulate": accumulate, "no_sync": plan["no_sync"], "optimizer": optimizer,
           "clip": _optional(plan["grad_clip"]), "mask": _mask(plan), "training": plan["mode"] == "train"}
    if plan["dropout"] is not None:
        raise Refused("--dropout: --engine torch takes the model's own probabilities; set them in its config.json")
    return job


def _targets(plan):
    named = plan["lora_targets"] if "lora_targets" in plan._options else None
    return tuple(named.split(",")) if named else ()


def _mask(plan):
    return plan.one_of("attention_mask", False, None, "none", True, "full") in (True, "full")


def _plain(plan, model):
    job = _common(plan, model)
    plan.one_of("loss", "hf")
    sharding = _sharding(plan)
    # What is sharded from meta is made there, as the script of a user does, wherever the model is said to begin.
    init = plan.one_of("init", *{"none": ("cpu", "device"), "ddp": ("cpu", "device"), "fsdp1": ("cpu",),
                                 "fsdp2": ("cpu", "meta")}[sharding["sharding"]])
    if job["lora"] and sharding["sharding"] in ("fsdp1", "fsdp2"):
        plan.refuse_changed("lora")
    prepare = model.prepare
    if not plan["use_cache"] and model.has_config:
        prepare = scripts.text(prepare, "config.use_cache = False")
    job.update(
        model=dataclasses.replace(model, prepare=prepare), init=init, keeps_outputs=plan["keep_logits"],
        names_tensors=plan["framework"] == "torch" and not model.data,
        implementation=_optional(plan["optimizer_impl"]), param_groups=plan["param_groups"],
        zeroes_at=plan.one_of("zero_grad_at", "end", "start"), set_to_none=plan["set_to_none"], empties_cache=plan["empty_cache_every_step"],
        **sharding)
    return Job(scripts.plain_script(job), model.files, job["ranks"])


def _sharding(plan):
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
    plan.one_of("dp_kind", "ddp", "fsdp1", "fsdp2")
    types = {name: _optional(plan[name]) for name in ("param_dtype", "reduce_dtype")}
    if kind == "fsdp1" and types["param_dtype"] and not types["reduce_dtype"]:
        types["reduce_dtype"] = types["param_dtype"]
    if kind == "fsdp1":
        return {"sharding": kind, "ranks": ranks, **types, "strategy": _strategy(plan)}
    reshard = {"always": None, "all": True, "never": False}
    return {"sharding": kind, "ranks": ranks, **types, "reshard": reshard[plan.one_of("reshard", *reshard)]}


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


def _trained(plan, model, *kinds):
    """What Trainer and SFTTrainer share; the rest they decide themselves."""
    job = _common(plan, model)
    _require_one(plan, "tp", "pp", "cp", "ep", "dp_replicate")
    plan.refuse_changed("no_sync", "checkpoint_impl", "mode")
    kind, ranks = plan.one_of("dp_kind", *kinds), plan["dp"]
    arguments = [f"max_steps={plan['steps']}"]
    if plan.is_changed("grad_clip"):
        arguments.append(f"max_grad_norm={job['clip'] or 0}")
    sharding = kind if ranks > 1 or kind == "fsdp2" else "none"
    return {**job, "arguments": arguments, "sharding": sharding, "ranks": ranks, "examples": job["examples"] * ranks}


def _trainer(plan, model):
    plan.one_of("optimizer", "adamw", "sgd", "adafactor", "rmsprop", "adagrad")
    job = _trained(plan, model, "ddp", "fsdp2")
    return Job(scripts.trainer_script(job), model.files, job["ranks"])


def _sft(plan, model):
    """SFTConfig computes in bf16 by itself; its rows have one length and no mask."""
    plan.one_of("precision", "amp-bf16", "bf16", "bf16+amp")
    plan.one_of("optimizer", "adamw")
    plan.refuse_changed("attention_mask")
    job = _trained(plan, model, "ddp")
    if len(set(job["seq"])) > 1:
        raise Refused("--seq: --engine torch gives SFTTrainer one length; use one, or --engine model")
    return Job(scripts.sft_script(job), {**model.files, **scripts.tokenizer_files()}, job["ranks"])


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
