"""Training programs as their users write them, from what a run is to be (a job).

Nothing in them serves the recording: the same file runs on a GPU.
"""

TORCH_TYPES = {"fp32": "torch.float32", "bf16": "torch.bfloat16", "fp16": "torch.float16"}

# What a job says. `model` holds the lines of models.py.
DEFAULTS = {
    "model": None,        # models.Model
    "batch": 1, "seq": (1024,),  # sequences per micro-batch; tokens in each, in turns
    "examples": 4096,     # of the data, which end the script
    "weights": "fp32", "autocast": None, "compile": False,
    "init": "cpu",        # cpu | device
    "attention": None,    # of from_config; None: transformers' own choice
    "checkpoint": False, "reentrant": False,
    "lora": 0, "lora_targets": (), "lora_dropout": 0.0,
    "keeps_outputs": True, "mask": False, "training": True,
    "names_tensors": False,  # each tensor of a batch has a variable of its own
    "accumulate": 1, "no_sync": False,
    "optimizer": "adamw", "implementation": None, "param_groups": 1, "clip": None,
    "zeroes_at": "end", "set_to_none": True, "empties_cache": False,
    "sharding": "none", "ranks": 1, "ddp": "", "param_dtype": "bf16", "reduce_dtype": "fp32", "reshard": None,
    "strategy": None, "arguments": (),
}

TOKENS = """

class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return {examples}

    def __getitem__(self, index):
        tokens = torch.randint(0, {vocabulary}, ({seq},))
        return {{"input_ids": tokens, {mask}"labels": tokens}}

"""

MASK = '"attention_mask": torch.ones_like(tokens), '

OPTIMIZERS = {"adamw": ("AdamW", "lr=1e-4"), "adam": ("Adam", "lr=1e-4"), "sgd": ("SGD", "lr=1e-2"),
              "sgd-momentum": ("SGD", "lr=1e-2, momentum=0.9"), "adafactor": ("Adafactor", "lr=1e-3"),
              "rmsprop": ("RMSprop", "lr=1e-4"), "adagrad": ("Adagrad", "lr=1e-3")}
IMPLEMENTATIONS = {None: "", "default": "", "fused": ", fused=True", "foreach": ", foreach=True", "loop": ", foreach=False"}


def text(*parts):
    """Lines of a script; what a job lacks is None or empty."""
    return "\n".join(part for part in parts if part)


def indented(lines, by=4):
    return "\n".join(" " * by + line if line else line for line in lines.split("\n"))


def data(job):
    """The class of the batches, or the lines that a model's factory brings."""
    model = job["model"]
    lengths = job["seq"]
    length = str(lengths[0]) if len(set(lengths)) == 1 else \
        f"{tuple(lengths)}[index // {job['batch']} % {len(lengths)}]"
    if model.data:
        return model.data.format(examples=job["examples"], fields=model.fields.format(seq=length))
    return TOKENS.format(examples=job["examples"], vocabulary=model.vocabulary, seq=length,
                                       mask=MASK if job["mask"] else "")


def lora_config(job):
    targets = f", target_modules={list(job['lora_targets'])}" if job["lora_targets"] else ""
    dropout = f", lora_dropout={job['lora_dropout']}" if job["lora_dropout"] else ""
    return (f'LoraConfig(r={job["lora"]}, lora_alpha={2 * job["lora"]}{targets}{dropout}, '
            f'task_type="{job["model"].task}")')


def adapted(job):
    return f"model = get_peft_model(model, {lora_config(job)})" if job["lora"] else ""


def imports_of_model(job):
    return text("from peft import LoraConfig, get_peft_model" if job["lora"] else "", job["model"].imports)


def built(job):
    """The expression that makes the model."""
    options = f", dtype={TORCH_TYPES[job['weights']]}" if job["weights"] != "fp32" else ""
    options += f', attn_implementation="{job["attention"]}"' if job["attention"] else ""
    return job["model"].construct(options)


def checkpointed(job):
    if not job["checkpoint"]:
        return ""
    arguments = 'gradient_checkpointing_kwargs={"use_reentrant": True}' if job["reentrant"] else ""
    return f"model.gradient_checkpointing_enable({arguments})"


# ------------------------------------------------------------------------------------------ plain scripts

def block_import(job):
    module, name = job["model"].block
    return f"from {module} import {name}"


def reshard(job):
    return "" if job["reshard"] is None else f", reshard_after_forward={job['reshard']}"


def shards_fully(job):
    block = job["model"].block[1]
    types = [f"{field}_dtype={TORCH_TYPES[job[name]]}" for field, name in (("param", "param_dtype"),
                                                                          ("reduce", "reduce_dtype"))
             if job[name] not in (None, "none")]
    policy = f"policy = MixedPrecisionPolicy({', '.join(types)})" if types else ""
    given = (", mp_policy=policy" if types else "") + reshard(job)
    return text('with torch.device("meta"):', f"    model = {built(job)}", checkpointed(job), policy,
                "for module in model.modules():", f"    if isinstance(module, {block}):",
                f"        fully_shard(module{given})", f"fully_shard(model{given})",
                'model.to_empty(device="cuda")')


def shards_flat(job):
    block = job["model"].block[1]
    mixed = ""
    if job["param_dtype"] not in (None, "none"):
        computed, reduced = TORCH_TYPES[job["param_dtype"]], TORCH_TYPES[job["reduce_dtype"]]
        mixed = (f"mixed = MixedPrecision(param_dtype={computed}, reduce_dtype={reduced}, "
                 f"buffer_dtype={computed})")
    given = (", mixed_precision=mixed" if mixed else "") + (job["strategy"] or "")
    return text(f"model = {built(job)}", checkpointed(job),
                f"wrap = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={{{block}}})", mixed,
                f"model = FullyShardedDataParallel(model, auto_wrap_policy=wrap{given}, "
                "device_id=rank, use_orig_params=True)")


def wrapping(job, device):
    """From the config to the module that is called."""
    if job["sharding"] == "fsdp2":
        return shards_fully(job)
    if job["sharding"] == "fsdp1":
        return shards_flat(job)
    replica = f"model = DistributedDataParallel(model, device_ids=[rank]{job['ddp']})" if job["sharding"] == "ddp" else ""
    if job["init"] == "device":
        made = text(f"with torch.device({device}):", f"    model = {built(job)}", adapted(job), checkpointed(job))
    else:
        made = text(f"model = {built(job)}", adapted(job), checkpointed(job), f"model.to({device})")
    return text(made, replica, "model = torch.compile(model)" if job["compile"] else "")


def imports_of_wrapping(job):
    mixed = ", MixedPrecision" if job["param_dtype"] not in (None, "none") else ""
    policy = "MixedPrecisionPolicy, " if any(job[name] not in (None, "none") for name in ("param_dtype", "reduce_dtype")) \
        else ""
    strategy = ", ShardingStrategy" if job["strategy"] and "ShardingStrategy" in job["strategy"] else ""
    return {"none": lambda: "", "ddp": lambda: "from torch.nn.parallel import DistributedDataParallel",
            "fsdp2": lambda: text(f"from torch.distributed.fsdp import {policy}fully_shard", block_import(job)),
            "fsdp1": lambda: text(f"from torch.distributed.fsdp import FullyShardedDataParallel{mixed}{strategy}",
                                  "from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy",
                                  block_import(job)),
            }[job["sharding"]]()


def optimizer(job):
    name, options = OPTIMIZERS[job["optimizer"]]
    options += IMPLEMENTATIONS[job["implementation"]]
    if job["param_groups"] == 1:
        return f"optimizer = torch.optim.{name}(model.parameters(), {options})"
    return text("groups = [[p for p in model.parameters() if p.dim() > 1], [p for p in model.parameters() if p.dim() <= 1]]",
                f'optimizer = torch.optim.{name}([{{"params": group}} for group in groups], {options})')


def clipped(job):
    if not job["clip"]:
        return ""
    return f"model.clip_grad_norm_({job['clip']})" if job["sharding"] == "fsdp1" else \
        f"torch.nn.utils.clip_grad_norm_(model.parameters(), {job['clip']})"


def zeroed(job):
    return "optimizer.zero_grad()" if job["set_to_none"] else "optimizer.zero_grad(set_to_none=False)"


def plain_update(job):
    if job["optimizer"] == "none":
        return text(clipped(job), "model.zero_grad()")
    step = (("scaler.unscale_(optimizer)" if job["clip"] else "", clipped(job), "scaler.step(optimizer)",
             "scaler.update()") if job["autocast"] == "fp16" else (clipped(job), "optimizer.step()"))
    return text(*step, zeroed(job) if job["zeroes_at"] == "end" else "",
                "torch.cuda.empty_cache()" if job["empties_cache"] else "")


def tensors_of(job):
    return ["input_ids", *(["attention_mask"] if job["mask"] else []), "labels"]


def loading(job, device):
    if job["names_tensors"]:
        return text(*(f'{name} = batch["{name}"].to({device})' for name in tensors_of(job)))
    return f"batch = {{name: tensor.to({device}) for name, tensor in batch.items()}}"


def plain_forward(job):
    """The forward pass and the loss."""
    loss = job["model"].loss
    given = ", ".join(f"{name}={name}" for name in tensors_of(job)) if job["names_tensors"] else "**batch"
    if job["keeps_outputs"] or loss != "outputs.loss":
        return f"outputs = model({given})", loss
    return f"loss = model({given}).loss", None


def plain_step(job, device):
    """The body of the loop over batches."""
    accumulates = job["accumulate"] > 1
    forward, loss = plain_forward(job)
    if job["autocast"]:
        forward = text(f'with torch.autocast("cuda", dtype={TORCH_TYPES[job["autocast"]]}):', indented(forward))
    share = f" / {job['accumulate']}" if accumulates else ""
    divided = f"loss = {loss or 'loss'}{share}" if loss or share else ""
    load = loading(job, device)
    if not job["training"]:
        return text(load, "with torch.no_grad():", indented(text(forward, divided)))
    backward = "scaler.scale(loss).backward()" if job["autocast"] == "fp16" else "loss.backward()"
    update = plain_update(job)
    last = f"(step + 1) % {job['accumulate']} == 0"
    if accumulates and job["no_sync"]:
        body = text(forward, divided, backward)
        context = f"with contextlib.nullcontext() if {last} else model.no_sync():"
        body = text(f"model.set_requires_gradient_sync({last})", body) if job["sharding"] == "fsdp2" else \
            text(context, indented(body))
    else:
        body = text(forward, divided, backward)
    if accumulates:
        update = text(f"if {last}:", indented(update))
    first = ""
    if job["zeroes_at"] == "start":
        first = text(f"if step % {job['accumulate']} == 0:", indented(zeroed(job))) if accumulates else zeroed(job)
    return text(first, load, body, update)


def plain_script(job):
    is_alone = job["sharding"] == "none"
    device = '"cuda"' if is_alone else "rank"
    group = text('rank = int(os.environ["LOCAL_RANK"])', "torch.cuda.set_device(rank)",
                 'torch.distributed.init_process_group("nccl")')
    return text(
        "import contextlib" if job["no_sync"] and job["sharding"] in ("ddp", "fsdp1") else "",
        *(() if is_alone else ("import functools", "import os") if job["sharding"] == "fsdp1" else ("import os",)),
        "import torch", imports_of_model(job), imports_of_wrapping(job),
        "", job["model"].prepare, data(job),
        "" if is_alone else group, wrapping(job, device), "model.train()" if job["training"] else "model.eval()",
        optimizer(job) if job["training"] and job["optimizer"] != "none" else "",
        'scaler = torch.amp.GradScaler("cuda")' if job["autocast"] == "fp16" and job["training"] else "",
        f"loader = torch.utils.data.DataLoader({job['model'].dataset}, batch_size={job['batch']})",
        "for step, batch in enumerate(loader):", indented(plain_step(job, device)), "") + "\n"


# ------------------------------------------------------------------------------------------ Trainer, SFTTrainer

def training_arguments(job):
    """Keywords of TrainingArguments and SFTConfig."""
    return [f"per_device_train_batch_size={job['batch']}",
            *([f"gradient_accumulation_steps={job['accumulate']}"] if job["accumulate"] > 1 else []),
            'report_to="none"', 'save_strategy="no"', *job["arguments"]]


def trainer_script(job):
    chosen = [f"{job['autocast']}=True"] if job["autocast"] else []
    chosen += ["gradient_checkpointing=True"] if job["checkpoint"] else []
    chosen += ["fsdp=True"] if job["sharding"] == "fsdp2" else []
    chosen += [f'optim="{job["optimizer"]}"'] if job["optimizer"] != "adamw" else []
    keywords = ", ".join(['output_dir="out"', *training_arguments(job), *chosen])
    return text("import torch", imports_of_model(job), "from transformers import Trainer, TrainingArguments",
                job["model"].prepare, data(job), f"model = {built(job)}", adapted(job),
                f"arguments = TrainingArguments({keywords})",
                f"trainer = Trainer(model=model, args=arguments, train_dataset={job['model'].dataset})",
                "trainer.train()") + "\n"


def sft_script(job):
    chosen = [f"max_length={job['seq'][0]}"] + ([] if job["checkpoint"] else ["gradient_checkpointing=False"])
    keywords = ", ".join(['output_dir="out"', *training_arguments(job), *chosen])
    adapter = f", peft_config={lora_config(job)}" if job["lora"] else ""
    return text("import torch", "from datasets import Dataset",
                "from peft import LoraConfig" if job["lora"] else "",
                "from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer",
                "from trl import SFTConfig, SFTTrainer", job["model"].prepare,
                f"rows = torch.randint(0, config.vocab_size, (256, {job['seq'][0]})).tolist()",
                f"model = {built(job)}", f"arguments = SFTConfig({keywords})",
                'trainer = SFTTrainer(model=model, args=arguments, train_dataset=Dataset.from_dict({"input_ids": rows}),',
                f'                     processing_class=AutoTokenizer.from_pretrained("."){adapter})',
                "trainer.train()") + "\n"


# ------------------------------------------------------------------------------------------ accelerate

def accelerate_script(job):
    accumulates = job["accumulate"] > 1
    clip = f"accelerator.clip_grad_norm_(model.parameters(), {job['clip']})"
    step = text("outputs = model(**batch)", "loss = outputs.loss", "accelerator.backward(loss)",
                *(("if accelerator.sync_gradients:", f"    {clip}") if job["clip"] and accumulates else
                  (clip,) if job["clip"] else ()),
                "optimizer.step()", "optimizer.zero_grad()")
    if accumulates:
        step = text("with accelerator.accumulate(model):", indented(step))
    counted = f"gradient_accumulation_steps={job['accumulate']}" if accumulates else ""
    return text("import torch", "from accelerate import Accelerator", imports_of_model(job),
                job["model"].prepare, data(job), f"accelerator = Accelerator({counted})", f"model = {built(job)}",
                checkpointed(job), "model.train()", optimizer(job),
                f"loader = torch.utils.data.DataLoader({job['model'].dataset}, batch_size={job['batch']})",
                "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)",
                "for batch in loader:", indented(step)) + "\n"


# ------------------------------------------------------------------------------------------ files beside them

def tokenizer_files():
    """A tokenizer of words, so that the script loads one as it would load a model's own."""
    import json
    words = {"<pad>": 0, "</s>": 1, "<unk>": 2}
    model = {"type": "WordLevel", "vocab": words, "unk_token": "<unk>"}
    special = {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    return {"tokenizer.json": json.dumps({"version": "1.0", "added_tokens": [],
                                          "pre_tokenizer": {"type": "Whitespace"}, "model": model}),
            "tokenizer_config.json": json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **special})}


def fsdp_file(block, ranks):
    """What `accelerate config` writes for FSDP2 where every question is answered with its default, but for mixed
    precision and the class to wrap, which it asks for."""
    return {"fsdp.yaml": f"""compute_environment: LOCAL_MACHINE
distributed_type: FSDP
fsdp_config:
  fsdp_activation_checkpointing: false
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_cpu_ram_efficient_loading: true
  fsdp_offload_params: false
  fsdp_reshard_after_forward: true
  fsdp_state_dict_type: SHARDED_STATE_DICT
  fsdp_transformer_layer_cls_to_wrap: {block}
  fsdp_version: 2
machine_rank: 0
main_training_function: main
mixed_precision: bf16
num_machines: 1
num_processes: {ranks}
rdzv_backend: static
use_cpu: false
"""}
