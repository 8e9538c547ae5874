"""The lines of a script about its model: data, construction, adapters, checkpointing."""
from . import quantized
from .lines import TORCH_TYPES, text

TOKENS = """

class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return {examples}

    def __getitem__(self, index):
        tokens = torch.randint(0, {vocabulary}, ({seq},))
        return {{"input_ids": tokens, {mask}"labels": {labels}}}

"""

# Every rank has a part of each sequence, so labels cannot be shifted later.
SHIFTED_TOKENS = """

class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return {examples}

    def __getitem__(self, index):
        tokens = torch.randint(0, {vocabulary}, ({seq} + 1,))
        return {{"input_ids": tokens[:-1], {labels}}}

"""

MASK = '"attention_mask": torch.ones_like(tokens){hidden}, '
# Whether anything is padding decides what a model does, and not how much: a token at the end of each sequence.
HIDDEN = " * (torch.arange({length}) < {length} - 1)"


def dtype(job):
    """Of the weights, where it is not the default."""
    return TORCH_TYPES[job["weights"]] if job["weights"] != "fp32" else None


def data(job):
    """The class of the batches, or the lines that a model's factory brings."""
    model = job["model"]
    lengths = job["seq"]
    length = str(lengths[0]) if len(set(lengths)) == 1 else \
        f"{tuple(lengths)}[index // {job['batch']} % {len(lengths)}]"
    target = lengths_of_targets(job) or length
    hidden = HIDDEN.format(length=(model.masked or model.counted or length).format(batch=job["batch"])) if job["mask"] == "padded" else ""
    if model.batches:
        return ""
    if model.data:
        floats = f", dtype={dtype(job)}" if dtype(job) else ""
        fields = (model.mask if job["mask"] else "") + model.fields
        return model.data.format(examples=job["examples"], seq=length, target=target,
                                 fields=fields.format(seq=length, target=target, floats=floats, hidden=hidden, batch=job["batch"]))
    if job["context_ranks"] > 1:
        return SHIFTED_TOKENS.format(examples=job["examples"], vocabulary=model.vocabulary, seq=length,
                                     labels=job["shifted_labels"].format(seq=length))
    labels = f"torch.randint(0, {model.vocabulary}, ({target},))" if job["target"] else "tokens"
    return TOKENS.format(examples=job["examples"], vocabulary=model.vocabulary, seq=length, labels=labels,
                         mask=MASK.format(hidden=hidden) if job["mask"] else "")


def lengths_of_targets(job):
    """Tokens of the labels; where lengths of the inputs vary, theirs do as much, in another order. Empty: they are the inputs'."""
    lengths = job["seq"]
    most = job["target"] or (max(lengths) if job["varies"] and job["model"].counted else None)  # second texts vary by themselves
    if not most or not job["varies"]:
        return str(most or "")
    shares = [max(1, most * length // max(lengths)) for length in (*lengths[1::2], *lengths[::2])]
    return f"{tuple(shares)}[index // {job['batch']} % {len(shares)}]"


def named_targets(job):
    is_all = job["lora_targets"] == ("all-linear",)
    return '"all-linear"' if is_all else list(job["lora_targets"])


def lora_config(job):
    targets = f", target_modules={named_targets(job)}" if job["lora_targets"] else ""
    dropout = f", lora_dropout={job['lora_dropout']}" if job["lora_dropout"] else ""
    dora = ", use_dora=True" if job["dora"] else ""
    task = f', task_type="{job["model"].task}"' if job["model"].is_transformers else ""
    return f'LoraConfig(r={job["lora"]}, lora_alpha={2 * job["lora"]}{targets}{dropout}{dora}{task})'


def frozen(job):
    """The lines that keep modules and parameters from being trained, by the last parts of their names."""
    if not job["frozen"]:
        return ""
    names, others = job["frozen"], job["freezes_others"]
    said = f"--freeze {'all-but:' * others}{','.join(names)}: the model has no such module"
    return text("model.requires_grad_(False)" if others else "",
                f'named = [part for name, part in (*model.named_modules(), *model.named_parameters()) if f".{{name}}".endswith({tuple("." + name for name in names)})]',
                "if not named:", f"    raise LookupError({said!r})",
                "for part in named:", f"    part.requires_grad_({others})",
                # Wav2Vec2's feature encoders let their first states require gradients unless they are told by a method of their own.
                "" if others else text('    if hasattr(part, "_freeze_parameters"):', "        part._freeze_parameters()"))


def adapts(job):
    return bool(job["lora"] or job["peft"])


def adapter_config(job):
    """The expression that says which adapters are trained. Keys that the installed PEFT lacks are dropped by itself."""
    return f"PeftConfig.from_peft_type(**{job['peft']!r})" if job["peft"] else lora_config(job)


def imported_config(job):
    """The class of adapter_config()."""
    return "PeftConfig" if job["peft"] else "LoraConfig"


def adapted(job):
    """What a script does to the model that it has made, before it is used."""
    return text(frozen(job), quantized.prepared(job) if job["quantize"] else "",
                f"model = get_peft_model(model, {adapter_config(job)})" if adapts(job) else "")


def in_float8(job):
    """The linear layers but the head, with dynamic scales of whole tensors: torchao's defaults."""
    return ('convert_to_float8_training(model, module_filter_fn=lambda module, name: name not in ("lm_head", "embed_out"))'
            if job["float8"] else "")


def imports_of_model(job):
    return text(quantized.imports(job) if job["quantize"] else "",
                f"from peft import {imported_config(job)}, get_peft_model" if adapts(job) else "",
                "from torchao.float8 import convert_to_float8_training" if job["float8"] else "", job["model"].imports)


def built(job):
    """The expression that makes the model."""
    if job["quantize"]:
        return quantized.loaded(job)
    return job["model"].construct(dtype(job), job["attention"], job["experts"])


def checkpointed(job):
    if not job["checkpoint"] or (job["quantize"] and job["prepares_kbit"]):
        return ""
    arguments = 'gradient_checkpointing_kwargs={"use_reentrant": True}' if job["reentrant"] else ""
    return job["model"].checkpointing.format(arguments=arguments)
