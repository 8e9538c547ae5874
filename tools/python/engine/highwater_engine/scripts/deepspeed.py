"""A plain loop around DeepSpeed's engine, and the engine's configuration."""
import json

from .lines import indented, text
from .loop import forward_and_loss, loader, loading
from .model_lines import adapted, built, checkpointed, data, imports_of_model
from .optimizers import optimizer

CONFIGURATION = "ds_config.json"
# Of torch's: deepspeed 0.19 runtime/zero/utils.py ZERO_SUPPORTED_OPTIMIZERS. Others have to be allowed.
TESTED_OPTIMIZERS = ("adam", "adamw", "adagrad")


def made(job):
    """The model, where a script makes it."""
    if job["zero_init"]:
        return text(f'with deepspeed.zero.Init(config_dict_or_path="{CONFIGURATION}"):', f"    model = {built(job)}")
    if job["init"] == "device":
        return text('with torch.device("cuda"):', f"    model = {built(job)}")
    return f"model = {built(job)}"


def deepspeed_step(job):
    forward, loss = forward_and_loss(job, "engine")
    return text(loading(job, '"cuda"'), forward, f"loss = {loss}" if loss else "", "engine.backward(loss)",
                "engine.step()")


def deepspeed_script(job):
    return text("import os", "import deepspeed", "import torch", imports_of_model(job), "", job["model"].prepare,
                data(job), "deepspeed.init_distributed()", 'torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))',
                made(job), adapted(job), checkpointed(job), "model.train()", optimizer(job),
                "engine, optimizer, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, "
                f'config="{CONFIGURATION}")', "engine.compile()" if job["compile"] else "",
                loader(job), "for batch in loader:", indented(deepspeed_step(job))) + "\n"


def deepspeed_file(job):
    """The engine's configuration; `zero`: further members of zero_optimization."""
    settings = {"train_micro_batch_size_per_gpu": job["batch"], "gradient_accumulation_steps": job["accumulate"],
                "zero_optimization": {"stage": job["stage"], **job["zero"]}}
    if job["weights"] != "fp32":
        settings[job["weights"]] = {"enabled": True}
    if job["clip"]:
        settings["gradient_clipping"] = job["clip"]
    if job["optimizer"] not in TESTED_OPTIMIZERS:
        settings["zero_allow_untested_optimizer"] = True
    if "offload_optimizer" in job["zero"]:
        settings["zero_force_ds_cpu_optimizer"] = False  # torch's own, as it is handed over
    return {CONFIGURATION: json.dumps(settings, indent=2) + "\n"}
