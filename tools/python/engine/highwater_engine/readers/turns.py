"""Several models in one loop, each with an optimizer: a plain loop on one GPU, whose steps are the user's own function."""
from .. import scripts
from ..plan import Job, Refused
from .common import common, optional, require_one

# What that function decides, or what nobody could say of which model it is meant.
_ITS_OWN = ("ema", "freeze", "teacher", "lora", "peft", "compile", "float8", "no_sync", "checkpoint", "loss", "keep_logits", "use_cache", "param_groups",
            "eval_batch", "offload", "init", "optimizer_impl")


def turns(plan, model):
    job = common(plan, model)
    require_one(plan, "dp", "tp", "pp", "cp", "ep", "grad_accum")
    plan.refuse_changed(*_ITS_OWN)
    if job["autocast"]:
        raise Refused(f"--precision {plan['precision']}: {model.name} computes its losses itself, and says there where autocast begins; "
                      "put torch.autocast into the function and use --precision fp32")
    if job["optimizer"] in ("none", "muon", "lbfgs") or scripts.OPTIMIZERS[job["optimizer"]].takes_model or scripts.OPTIMIZERS[job["optimizer"]].targeted:
        raise Refused(f"--optimizer {job['optimizer']}: each of the models of {model.name} has an optimizer, whose step follows its backward; "
                      "use another one")
    job.update(zeroes_at=plan.one_of("zero_grad_at", "end", "start"), set_to_none=plan["set_to_none"], clip=optional(plan["grad_clip"]),
               empties_cache=plan["empty_cache_every_step"])
    return Job(scripts.turns_script(job), model.files)
