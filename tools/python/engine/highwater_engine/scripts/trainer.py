"""transformers' Trainer and TRL's SFTTrainer."""
import json

from . import quantized
from .lines import indented, text
from .model_lines import adapted, adapter_config, adapts, built, data, imported_config, imports_of_model
from .optimizers import OPTIMIZERS, TRAINER_OPTIMIZERS


def training_arguments(job):
    """Keywords of TrainingArguments and SFTConfig."""
    return [f"per_device_train_batch_size={job['batch']}",
            *([f"gradient_accumulation_steps={job['accumulate']}"] if job["accumulate"] > 1 else []),
            'report_to="none"', 'save_strategy="no"', *job["arguments"]]


# Micro-batches of several lengths have all their examples in one: Trainer would shuffle them.
IN_ORDER = """
class InOrder(Trainer):
    def _get_train_sampler(self, *arguments):
        return torch.utils.data.SequentialSampler(self.train_dataset)

"""


# What the model does not compute itself.
OWN_LOSS = """
class OwnLoss({trainer}):
    def compute_loss(self, model, batch, return_outputs=False, num_items_in_batch=None):
        outputs = {call}
        loss = {loss}
        return (loss, outputs) if return_outputs else loss

"""

# A batch in another form than that of its examples.
COLLATED = """
def collated(examples):
{lines}

"""


def trainer_of(job):
    """(the class that trains, the lines that define it)"""
    model, name, lines = job["model"], "Trainer", ""
    if len(set(job["seq"])) > 1:
        name, lines = "InOrder", IN_ORDER
    if model.loss != "outputs.loss":
        lines += OWN_LOSS.format(trainer=name, call=model.call.format(called="model", constants=""), loss=model.loss)
        name = "OwnLoss"
    return name, lines


def collating(job):
    """(the keyword of Trainer, the lines that define what it names)"""
    model = job["model"]
    constants = model.constants.removeprefix(", ")
    lines = [*model.arranges, *([f"batch.update({constants})"] if constants else [])]
    if not lines and model.loss == "outputs.loss":
        return "", ""
    return ", data_collator=collated", COLLATED.format(
        lines=indented(text("batch = torch.utils.data.default_collate(examples)", *lines, "return batch")))


def trainer_script(job):
    name, own = trainer_of(job)
    collator, collate = collating(job)
    chosen = [f"{job['autocast']}=True"] if job["autocast"] else []
    chosen += ["gradient_checkpointing=True"] if job["checkpoint"] else []
    chosen += ["torch_compile=True"] if job["compile"] else []
    chosen += ["fsdp=True"] if job["sharding"] == "fsdp2" else []
    chosen += chosen_optimizer(job)
    keywords = ", ".join(['output_dir="out"', *training_arguments(job), *chosen])
    return text("import torch", imports_of_model(job), "from transformers import Trainer, TrainingArguments",
                job["model"].prepare, data(job), f"model = {built(job)}", adapted(job),
                own, collate, f"arguments = TrainingArguments({keywords})",
                f"trainer = {name}(model=model, args=arguments, train_dataset={job['model'].dataset}{collator}{evaluated(job)})",
                "trainer.train()") + "\n"


def evaluated(job):
    """Keywords of Trainer: the data between steps, and what asks for the outputs."""
    evaluation = job["evaluation"]
    if not evaluation:
        return ""
    data = f", eval_dataset=torch.utils.data.Subset({job['model'].dataset}, range({evaluation['examples']}))"
    metrics = ", compute_metrics=lambda gathered: {}" if evaluation["outputs"] != "loss" else ""
    likeliest = "(logits[0] if isinstance(logits, tuple) else logits).argmax(-1)"
    takes = f", preprocess_logits_for_metrics=lambda logits, labels: {likeliest}" if evaluation["outputs"] == "argmax" else ""
    return data + metrics + takes


def chosen_optimizer(job):
    """What Trainer calls it, unless it is its default; the projected layers and their rank."""
    name = TRAINER_OPTIMIZERS[job["optimizer"]]
    chosen = [f'optim="{name}"'] if name else []
    if OPTIMIZERS[job["optimizer"]].targeted:
        chosen += ['optim_target_modules="all-linear"', f'optim_args="rank={job["optimizer_rank"]}"']
    return chosen


# AutoTokenizer would take the class of the model's own tokenizer, which knows nothing of these words: a text of any length
# became one token of Qwen's.
IMPORT_OF_TOKENIZER, TOKENIZER = "from transformers import PreTrainedTokenizerFast", 'PreTrainedTokenizerFast.from_pretrained(".")'


def sft_script(job):
    chosen = [f"max_length={job['seq'][0]}"] + ([] if job["checkpoint"] else ["gradient_checkpointing=False"])
    keywords = ", ".join(['output_dir="out"', *training_arguments(job), *chosen])
    adapter = f", peft_config={adapter_config(job)}" if adapts(job) else ""
    return text("import torch", "from datasets import Dataset",
                quantized.imports(job) if job["quantize"] else "",
                f"from peft import {imported_config(job)}" if adapts(job) else "",
                job["model"].imports, IMPORT_OF_TOKENIZER,
                "from trl import SFTConfig, SFTTrainer", job["model"].prepare,
                f"rows = torch.randint(0, config.vocab_size, (256, {job['seq'][0]})).tolist()",
                f"model = {built(job)}", quantized.prepared(job) if job["quantize"] else "",
                f"arguments = SFTConfig({keywords})",
                'trainer = SFTTrainer(model=model, args=arguments, train_dataset=Dataset.from_dict({"input_ids": rows}),',
                f'                     processing_class={TOKENIZER}{adapter})',
                "trainer.train()") + "\n"


def tokenizer_files():
    """A tokenizer of words, so that the script loads one as it would load a model's own."""
    words = {"<pad>": 0, "</s>": 1, "<unk>": 2}
    model = {"type": "WordLevel", "vocab": words, "unk_token": "<unk>"}
    special = {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    return {"tokenizer.json": json.dumps({"version": "1.0", "added_tokens": [],
                                          "pre_tokenizer": {"type": "Whitespace"}, "model": model}),
            "tokenizer_config.json": json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **special})}
