"""questions_loop.py [truth] WORD ...: a loop over a small model of transformers, or its Trainer, as WORDs say.

With "truth" transformers' two questions about positions and masks are answered as on a GPU by a function in their
place (tools/python/measure/stand_ins.py), so that no value has to be read from the device.
"""
import contextlib
import pathlib
import sys
import tempfile

import torch
from transformers import AutoConfig, AutoModelForCausalLM, Trainer, TrainingArguments

BATCH, LENGTH, STEPS, VOCABULARY = 2, 256, 3, 8000
HEADS = {"num_hidden_layers": 3, "num_attention_heads": 8}
DECODER = {"vocab_size": VOCABULARY, "hidden_size": 512, "intermediate_size": 1024, "num_key_value_heads": 2, **HEADS}
MODELS = {
    "gpt2": {"vocab_size": VOCABULARY, "n_layer": 3, "n_embd": 256, "n_head": 4},
    "llama": DECODER, "qwen2": DECODER, "qwen3": DECODER,
    "gemma": {**DECODER, "head_dim": 64, "num_key_value_heads": 1},
    "opt": {"vocab_size": VOCABULARY, "hidden_size": 512, "ffn_dim": 1024, "word_embed_proj_dim": 512, **HEADS},
    "mixtral": {**DECODER, "num_local_experts": 8},
}


def answer_by_hand(words):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools" / "python"))
    from measure.stand_ins import patch_for_fake_device
    patch_for_fake_device({"attention_mask": "padded" if "padded" in words else True})


def make_model(words):
    family = next(word for word in words if word in MODELS)
    config = AutoConfig.for_model(family, **MODELS[family])
    config.use_cache = "cache" in words
    config._attn_implementation = "eager" if "eager" in words else "sdpa"
    on_host = "host" in words or "trainer" in words
    with contextlib.nullcontext() if on_host else torch.device("cuda"):
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16 if "bf16" in words else torch.float32)
    if "lora" in words:
        from peft import LoraConfig, get_peft_model
        model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
        if "checkpoint" in words:
            model.enable_input_require_grads()
    return model


def batch(words):
    ids = torch.randint(0, VOCABULARY, (BATCH, LENGTH))
    mask = torch.ones(BATCH, LENGTH, dtype=torch.long)
    if "padded" in words:
        mask[-1, 0] = 0
    has_mask = "mask" in words or "padded" in words
    return {"input_ids": ids, "labels": ids, **({"attention_mask": mask} if has_mask else {})}


def train_in_a_loop(words):
    model = make_model(words).to("cuda").train()
    if "checkpoint" in words:
        model.gradient_checkpointing_enable({"use_reentrant": "reentrant" in words})
    optimizer = torch.optim.AdamW(model.parameters(), fused="fused" in words)
    outputs = None
    for _ in range(STEPS):
        inputs = {name: value.to("cuda") for name, value in batch(words).items()}
        with torch.autocast("cuda", torch.bfloat16) if "amp" in words else contextlib.nullcontext():
            outputs = model(**inputs)
        loss = outputs.loss
        if "keep" not in words:
            del outputs
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


class Rows(torch.utils.data.Dataset):
    def __init__(self, words):
        self._row = {name: value[-1] for name, value in batch(words).items()}

    def __len__(self):
        return 100

    def __getitem__(self, index):
        return self._row


def train_with_trainer(words):
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(
            output_dir=folder, max_steps=STEPS, per_device_train_batch_size=BATCH, report_to=[], save_strategy="no",
            bf16="amp" in words, gradient_checkpointing="checkpoint" in words,
            gradient_accumulation_steps=2 if "accumulated" in words else 1)
        Trainer(model=make_model(words), args=settings, train_dataset=Rows(words)).train()


def main():
    words = sys.argv[1:]
    if "truth" in words:
        answer_by_hand(words)
    train = train_with_trainer if "trainer" in words else train_in_a_loop
    train(words)


main()
