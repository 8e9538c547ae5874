"""TRL's trainers beside SFTTrainer, as `trl dpo`, `trl grpo`, ... start them: the model by its path, rows of words."""
import dataclasses

from . import quantized
from .lines import TORCH_TYPES, text
from .model_lines import adapter_config, adapts, imported_config
from .trainer import IMPORT_OF_TOKENIZER, TOKENIZER, chosen_optimizer, training_arguments

ROWS = 256


@dataclasses.dataclass(frozen=True)
class Loop:
    """A trainer of TRL. rows: a table of words, with {prompt} of a sequence, {rest} of them and {seq}."""
    name: str                # of its classes: NAMEConfig, NAMETrainer
    rows: dict
    module: str = "trl"
    length: str = "max_length={seq}"
    rewards: str = ""        # an argument of the trainer
    reference: dict = dataclasses.field(default_factory=dict)  # {whether a second model answers: argument of the configuration}


# Each row is cut to the length, which its two texts exceed together.
_PAIRS = {"prompt": "{prompt}", "chosen": "{seq}", "rejected": "{seq}"}
_REWARDS = "reward_funcs=lambda completions, **rest: [float(len(text)) for text in completions], "
_WRITING = {"length": "max_completion_length={target}", "rewards": _REWARDS}

LOOPS = {
    "dpo": Loop("DPO", _PAIRS, reference={False: "precompute_ref_log_probs=True"}),
    "kto": Loop("KTO", {"prompt": "{prompt}", "completion": "{seq}", "label": None},
                reference={False: "precompute_ref_log_probs=True"}),
    "orpo": Loop("ORPO", {"prompt": "{prompt}", "chosen": "{rest} - 1", "rejected": "{rest} - 1"}, "trl.experimental.orpo"),
    # Longer rows are dropped; the end of a text is a token.
    "reward": Loop("Reward", {"chosen": "{seq} - 1", "rejected": "{seq} - 1"}),
    "grpo": Loop("GRPO", {"prompt": "{seq}"}, **_WRITING, reference={True: "beta=0.04"}),
    "rloo": Loop("RLOO", {"prompt": "{seq}"}, **_WRITING, reference={False: "beta=0.0"}),
}


def trl_script(job):
    loop, model = LOOPS[job["loop"]], job["model"]
    return text("import torch", "from datasets import Dataset", imports(job, loop), model.imports,
                IMPORT_OF_TOKENIZER, f"from {loop.module} import {loop.name}Config, {loop.name}Trainer",
                model.prepare, f"rows = {rows(job, loop)}",
                f"path = checkpoint({factory_of(job)}, config, {TORCH_TYPES[job['weights']]})",
                f"arguments = {loop.name}Config({', '.join(configured(job, loop))})",
                f"trainer = {loop.name}Trainer(model={model_argument(job, loop)}, args=arguments, train_dataset=Dataset.from_dict(rows), "
                f"{loop.rewards}processing_class={TOKENIZER}{extra(job)})",
                "trainer.train()") + "\n"


def imports(job, loop):
    return text("from checkpoint import checkpoint",
                f"from peft import {imported_config(job)}" if adapts(job) else "",
                quantized.imported_configuration(job) if job["quantize"] else "")


def rows(job, loop):
    seq = job["seq"][0]
    answer = job["target"] or seq // 2
    sizes = {"seq": seq, "prompt": seq - answer, "rest": answer}
    columns = [f'"{name}": ' + (f'["a " * ({words.format(**sizes)})] * {ROWS}' if words else f"[True, False] * {ROWS // 2}")
               for name, words in loop.rows.items()]
    return "{" + ", ".join(columns) + "}"


def configured(job, loop):
    """Keywords of the configuration."""
    chosen = [loop.length.format(seq=job["seq"][0], target=job["target"])]
    chosen += [f"num_generations={generations(job)}"] if loop.rewards else []
    chosen += [loop.reference[job["reference"]]] if job["reference"] in loop.reference and not adapts(job) else []
    chosen += {("fp16", "fp32"): ["fp16=True"], (None, "fp32"): ["bf16=False"]}.get((job["autocast"], job["weights"]), [])
    chosen += [] if job["checkpoint"] else ["gradient_checkpointing=False"]
    return ['output_dir="out"', *training_arguments(job), *chosen_optimizer(job), *chosen, *model_arguments(job, loop)]


def loads_itself(loop):
    """Whether the trainer loads the model by its path."""
    return loop.module == "trl"


def model_arguments(job, loop):
    if not loads_itself(loop):
        return []
    attention = f', "attn_implementation": "{job["attention"]}"' if job["attention"] else ""
    return [f'model_init_kwargs={{"dtype": "{TORCH_TYPES[job["weights"]].removeprefix("torch.")}"{attention}}}']


def model_argument(job, loop):
    return "path" if loads_itself(loop) else f"{factory_of(job)}.from_pretrained(path, dtype={TORCH_TYPES[job['weights']]})"


def factory_of(job):
    return job["model"].expression.split(".from_config")[0]


def generations(job):
    """Completions of each prompt: as many of TRL's 8 as the completions of a step allow."""
    made = job["batch"] * job["accumulate"] * job["ranks"]
    return next(count for count in (8, 7, 6, 5, 4, 3, 2, 1) if made % count == 0)


def extra(job):
    quantization = f", quantization_config={quantized.configuration(job)}" if job["quantize"] else ""
    return (f", peft_config={adapter_config(job)}" if adapts(job) else "") + quantization
