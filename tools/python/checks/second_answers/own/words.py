"""What the programs' own answers have in common: the fields that are compared, in words of no program.

    batch, accumulation, sequence     numbers
    autocast, weights                 bf16, fp16, fp32 (weights), none (autocast)
    checkpointing                     true, false
    optimizer, fused                  a class, and whether torch's fused kernel steps
    clip                              a number, 0: none
    strategy                          ddp, fsdp1, fsdp2, zero0 ... zero3
    offload                           none, optimizer, params, both
    ranks, gpus                       of data parallelism, of all
    tensor, pipeline, context, expert degrees
    lora                              the rank, 0: none
    quantize                          none, nf4, fp4, int8
"""

# transformers/trainer_optimizer.py (5.24): the class that each name of `optim` makes.
OPTIMIZERS = {
    "adamw_torch": "adamw", "adamw_torch_fused": "adamw", "adamw_hf": "adamw", "adafactor": "adafactor-hf",
    "adamw_bnb_8bit": "adamw-8bit", "adamw_8bit": "adamw-8bit", "paged_adamw_8bit": "paged-adamw-8bit",
    "paged_adamw": "paged-adamw-32bit", "paged_adamw_32bit": "paged-adamw-32bit", "lion_32bit": "lion-32bit",
    "lion_8bit": "lion-8bit", "paged_lion_32bit": "paged-lion-32bit", "paged_lion_8bit": "paged-lion-8bit",
    "ademamix": "ademamix-32bit", "ademamix_8bit": "ademamix-8bit", "paged_ademamix_32bit": "paged-ademamix-32bit",
    "paged_ademamix_8bit": "paged-ademamix-8bit", "rmsprop_bnb": "rmsprop-32bit", "rmsprop_bnb_32bit": "rmsprop-32bit",
    "rmsprop_bnb_8bit": "rmsprop-8bit", "sgd": "sgd", "adagrad": "adagrad", "rmsprop": "rmsprop",
    "galore_adamw": "galore-adamw", "galore_adamw_8bit": "galore-adamw-8bit", "galore_adafactor": "galore-adafactor",
    "lomo": "lomo", "adalomo": "adalomo", "grokadamw": "grokadamw", "schedule_free_adamw": "schedule-free-adamw",
    "schedule_free_sgd": "schedule-free-sgd", "schedule_free_radam": "schedule-free-radam", "apollo_adamw": "apollo-adamw",
    "stable_adamw": "stable-adamw", "adamw_torch_8bit": "adamw-torch-8bit", "adamw_torch_4bit": "adamw-torch-4bit"}

TYPES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "torch.bfloat16": "bf16", "torch.float16": "fp16",
         "torch.float32": "fp32", "bf16": "bf16", "fp16": "fp16", "fp32": "fp32"}


def named(value):
    """The text of a member of an enum, of a type of torch, or of a text."""
    return str(getattr(value, "value", value))


def optimizer_of(name):
    name = named(name)
    return {"optimizer": OPTIMIZERS.get(name, name), "fused": name == "adamw_torch_fused"}


def offload_of(optimizer, params):
    return {(False, False): "none", (True, False): "optimizer", (False, True): "params", (True, True): "both"}[
        (bool(optimizer), bool(params))]


def zero_of(config):
    """Stage and offloading of a DeepSpeed file."""
    zero = config.get("zero_optimization") or {}
    host = [((zero.get(name) or {}).get("device") or "none") not in ("none", None)
            for name in ("offload_optimizer", "offload_param")]
    return {"strategy": f"zero{zero.get('stage', 0)}", "offload": offload_of(*host)}
