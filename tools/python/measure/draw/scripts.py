"""The scripts of the drawn cases, as their users write them.

Nothing in them serves the recording: models come from the config.json beside the script, tokens are random.
"""

from .families import FAMILIES

TORCH_TYPES = {"fp32": "torch.float32", "bf16": "torch.bfloat16", "fp16": "torch.float16"}

TOKENS = """

class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, index):
        tokens = torch.randint(0, config.vocab_size, ({seq},))
        return {{"input_ids": tokens, {mask}"labels": tokens}}

"""

MASK = '"attention_mask": torch.ones_like(tokens), '

OPTIMIZERS = {"adamw": "AdamW(model.parameters(), lr=1e-4)", "sgd": "SGD(model.parameters(), lr=1e-2)",
              "sgd-momentum": "SGD(model.parameters(), lr=1e-2, momentum=0.9)",
              "adafactor": "Adafactor(model.parameters(), lr=1e-3)", "rmsprop": "RMSprop(model.parameters(), lr=1e-4)"}


def text(*parts):
    """Lines of a script; what a case lacks is None or empty."""
    return "\n".join(part for part in parts if part)


def indented(lines, by=4):
    return "\n".join(" " * by + line if line else line for line in lines.split("\n"))


def tokens(case):
    return TOKENS.format(seq=case["seq"], mask=MASK if case["mask"] else "")


def from_config(case):
    family = FAMILIES[case["family"]]
    dtype = f", dtype={TORCH_TYPES[case['weights']]}" if case["weights"] != "fp32" else ""
    return f"{family.auto_class}.from_config(config{dtype})"


def lora_config(case):
    task = "CAUSAL_LM" if FAMILIES[case["family"]].is_decoder else "SEQ_2_SEQ_LM"
    return f'LoraConfig(r={case["lora"]}, lora_alpha={2 * case["lora"]}, task_type="{task}")'


def adapted(case):
    return f"model = get_peft_model(model, {lora_config(case)})" if case["lora"] else ""


def imports_of_model(case):
    auto = FAMILIES[case["family"]].auto_class
    return text("from peft import LoraConfig, get_peft_model" if case["lora"] else "",
                f"from transformers import AutoConfig, {auto}")


# ------------------------------------------------------------------------------------------ plain scripts

def block_import(case):
    family = case["family"]
    return f"from transformers.models.{family}.modeling_{family} import {FAMILIES[family].block}"


def wrapping(case, device):
    """From the config to the module that is called."""
    block, built = FAMILIES[case["family"]].block, from_config(case)
    checkpointed = "model.gradient_checkpointing_enable()" if case["checkpoint"] else ""
    if case["sharding"] == "fsdp2":
        return text('with torch.device("meta"):', f"    model = {built}", checkpointed,
                    "policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)",
                    "for module in model.modules():", f"    if isinstance(module, {block}):",
                    "        fully_shard(module, mp_policy=policy)", "fully_shard(model, mp_policy=policy)",
                    'model.to_empty(device="cuda")')
    if case["sharding"] == "fsdp1":
        return text(f"model = {built}", checkpointed,
                    f"wrap = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={{{block}}})",
                    "mixed = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32, "
                    "buffer_dtype=torch.bfloat16)",
                    "model = FullyShardedDataParallel(model, auto_wrap_policy=wrap, mixed_precision=mixed, "
                    "device_id=rank, use_orig_params=True)")
    replica = "model = DistributedDataParallel(model, device_ids=[rank])" if case["sharding"] == "ddp" else ""
    return text(f"model = {built}", adapted(case), checkpointed, f"model.to({device})", replica)


def imports_of_wrapping(case):
    return {"none": "", "ddp": "from torch.nn.parallel import DistributedDataParallel",
            "fsdp2": text("from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard", block_import(case)),
            "fsdp1": text("from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision",
                          "from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy", block_import(case)),
            }[case["sharding"]]


def plain_update(case):
    clipped = "model.clip_grad_norm_(1.0)" if case["sharding"] == "fsdp1" else \
        "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"
    if case["autocast"] == "fp16":
        return text(*(("scaler.unscale_(optimizer)", clipped) if case["clip"] else ()),
                    "scaler.step(optimizer)", "scaler.update()", "optimizer.zero_grad()")
    return text(clipped if case["clip"] else "", "optimizer.step()", "optimizer.zero_grad()")


def plain_step(case, device):
    """The body of the loop over batches."""
    accumulates = case["accumulate"] > 1
    forward = "outputs = model(**batch)"
    if case["autocast"]:
        forward = text(f'with torch.autocast("cuda", dtype={TORCH_TYPES[case["autocast"]]}):', indented(forward))
    loss = f"loss = outputs.loss / {case['accumulate']}" if accumulates else "loss = outputs.loss"
    backward = "scaler.scale(loss).backward()" if case["autocast"] == "fp16" else "loss.backward()"
    update = plain_update(case)
    if accumulates:
        update = text(f"if (step + 1) % {case['accumulate']} == 0:", indented(update))
    return text(f"batch = {{name: tensor.to({device}) for name, tensor in batch.items()}}", forward, loss, backward, update)


def plain_script(case):
    is_alone = case["sharding"] == "none"
    device = '"cuda"' if is_alone else "rank"
    group = text('rank = int(os.environ["LOCAL_RANK"])', "torch.cuda.set_device(rank)",
                 'torch.distributed.init_process_group("nccl")')
    return text(
        *(() if is_alone else ("import functools", "import os") if case["sharding"] == "fsdp1" else ("import os",)),
        "import torch", imports_of_model(case), imports_of_wrapping(case),
        "", 'config = AutoConfig.from_pretrained(".")', tokens(case),
        "" if is_alone else group, wrapping(case, device), "model.train()",
        f"optimizer = torch.optim.{OPTIMIZERS[case['optimizer']]}",
        'scaler = torch.amp.GradScaler("cuda")' if case["autocast"] == "fp16" else "",
        f"loader = torch.utils.data.DataLoader(Tokens(), batch_size={case['batch']})",
        "for step, batch in enumerate(loader):", indented(plain_step(case, device)), "") + "\n"


# ------------------------------------------------------------------------------------------ Trainer, SFTTrainer

def training_arguments(case):
    """Keywords of TrainingArguments and SFTConfig."""
    return [f"per_device_train_batch_size={case['batch']}",
            *([f"gradient_accumulation_steps={case['accumulate']}"] if case["accumulate"] > 1 else []),
            'report_to="none"', 'save_strategy="no"']


def trainer_script(case):
    chosen = [f"{case['autocast']}=True"] if case["autocast"] else []
    chosen += ["gradient_checkpointing=True"] if case["checkpoint"] else []
    chosen += ["fsdp=True"] if case["sharding"] == "fsdp2" else []
    chosen += [f'optim="{case["optimizer"]}"'] if case["optimizer"] != "adamw" else []
    keywords = ", ".join(['output_dir="out"', *training_arguments(case), *chosen])
    return text("import torch", imports_of_model(case), "from transformers import Trainer, TrainingArguments",
                'config = AutoConfig.from_pretrained(".")', tokens(case), f"model = {from_config(case)}", adapted(case),
                f"arguments = TrainingArguments({keywords})",
                "Trainer(model=model, args=arguments, train_dataset=Tokens()).train()") + "\n"


def sft_script(case):
    chosen = [f"max_length={case['seq']}"] + ([] if case["checkpoint"] else ["gradient_checkpointing=False"])
    keywords = ", ".join(['output_dir="out"', *training_arguments(case), *chosen])
    adapter = f", peft_config={lora_config(case)}" if case["lora"] else ""
    return text("import torch", "from datasets import Dataset",
                "from peft import LoraConfig" if case["lora"] else "",
                "from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer",
                "from trl import SFTConfig, SFTTrainer",
                'config = AutoConfig.from_pretrained(".")',
                f"rows = torch.randint(0, config.vocab_size, (256, {case['seq']})).tolist()",
                f"model = {from_config(case)}", f"arguments = SFTConfig({keywords})",
                'trainer = SFTTrainer(model=model, args=arguments, train_dataset=Dataset.from_dict({"input_ids": rows}),',
                f'                     processing_class=AutoTokenizer.from_pretrained("."){adapter})',
                "trainer.train()") + "\n"


# ------------------------------------------------------------------------------------------ accelerate

def accelerate_script(case):
    accumulates = case["accumulate"] > 1
    step = text("outputs = model(**batch)", "loss = outputs.loss", "accelerator.backward(loss)",
                *(("if accelerator.sync_gradients:", "    accelerator.clip_grad_norm_(model.parameters(), 1.0)")
                  if case["clip"] and accumulates else
                  ("accelerator.clip_grad_norm_(model.parameters(), 1.0)",) if case["clip"] else ()),
                "optimizer.step()", "optimizer.zero_grad()")
    if accumulates:
        step = text("with accelerator.accumulate(model):", indented(step))
    counted = f"gradient_accumulation_steps={case['accumulate']}" if accumulates else ""
    return text("import torch", "from accelerate import Accelerator", imports_of_model(case),
                'config = AutoConfig.from_pretrained(".")', tokens(case),
                f"accelerator = Accelerator({counted})", f"model = {from_config(case)}",
                "model.gradient_checkpointing_enable()" if case["checkpoint"] else "",
                "model.train()", "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)",
                f"loader = torch.utils.data.DataLoader(Tokens(), batch_size={case['batch']})",
                "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)",
                "for batch in loader:", indented(step)) + "\n"
