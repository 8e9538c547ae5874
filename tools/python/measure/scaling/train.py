#!/usr/bin/env python3
"""Trains one of PROGRAMS for three steps: train.py PROGRAM BATCH SIZE

SIZE is the length of a sequence, or the side of a picture. Models are small, and made from configurations.
"""

import json
import os
import sys
import tempfile

import torch

STEPS = 3
VOCABULARY = 8192


def tokens(batch, length):
    return torch.randint(10, VOCABULARY, (batch, length))


def loop(model, make_batch, loss_of, autocast=None, optimizer=None, clip=None):
    """A training loop as one writes it."""
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(STEPS + 1):
        batch = make_batch()
        with torch.autocast("cuda", dtype=autocast or torch.float32, enabled=autocast is not None):
            loss = loss_of(model, batch)
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        optimizer.zero_grad()


def causal(model, batch, length, **options):
    loop(model.cuda().train(), lambda: tokens(batch, length).cuda(), lambda m, x: m(input_ids=x, labels=x).loss, **options)


def encoder(batch, length):
    layer = torch.nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True)
    loop(torch.nn.TransformerEncoder(layer, 3).cuda(), lambda: torch.randn(batch, length, 256, device="cuda"),
         lambda m, x: m(x).square().mean(), autocast=torch.bfloat16)


def llama(**more):
    from transformers import LlamaConfig, LlamaForCausalLM
    return LlamaForCausalLM(LlamaConfig(vocab_size=VOCABULARY, hidden_size=256, intermediate_size=768, num_hidden_layers=3,
                                        num_attention_heads=4, num_key_value_heads=2, use_cache=False,
                                        max_position_embeddings=65536, **more))


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    return GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, n_layer=3, n_embd=256, n_head=4, n_positions=65536,
                                      use_cache=False))


def gpt2_loop(batch, length):
    causal(gpt2(), batch, length, autocast=torch.bfloat16)


def llama_eager(batch, length):
    causal(llama(attn_implementation="eager"), batch, length, clip=1.0)


def llama_checkpointed(batch, length):
    model = llama().to(torch.bfloat16)
    model.gradient_checkpointing_enable()
    causal(model, batch, length)


class Rows(torch.utils.data.Dataset):
    def __init__(self, length):
        self.length = length

    def __len__(self):
        return 4096

    def __getitem__(self, index):
        ids = tokens(1, self.length)[0]
        return {"input_ids": ids, "labels": ids}


def trainer(model, batch, length, **settings):
    from transformers import Trainer, TrainingArguments
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(output_dir=folder, max_steps=STEPS + 1, per_device_train_batch_size=batch, report_to="none",
                                      save_strategy="no", **settings)
        Trainer(model=model, args=arguments, train_dataset=Rows(length)).train()


def trainer_gpt2(batch, length):
    trainer(gpt2(), batch, length, bf16=True, gradient_checkpointing=True)


def trainer_llama(batch, length):
    trainer(llama(), batch, length, gradient_accumulation_steps=2, optim="adafactor")


def trl_lora(batch, length):
    from datasets import Dataset
    from peft import LoraConfig
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast
    from trl import SFTConfig, SFTTrainer
    words = Tokenizer(models.WordLevel({"<s>": 0, "</s>": 1, "<pad>": 2, "one": 3}, unk_token="one"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, bos_token="<s>", eos_token="</s>", pad_token="<pad>")
    with tempfile.TemporaryDirectory() as folder:
        settings = SFTConfig(output_dir=folder, max_steps=STEPS + 1, per_device_train_batch_size=batch, max_length=length, bf16=True,
                             report_to=[], save_strategy="no", gradient_checkpointing=False)
        rows = Dataset.from_dict({"text": ["one " * (length + 8)] * 512})
        SFTTrainer(model=llama().to(torch.bfloat16), args=settings, train_dataset=rows, processing_class=tokenizer,
                   peft_config=LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")).train()


def accelerate_loop(batch, length):
    from accelerate import Accelerator
    from transformers import Qwen3Config, Qwen3ForCausalLM
    accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=2)
    model = Qwen3ForCausalLM(Qwen3Config(vocab_size=VOCABULARY, hidden_size=256, intermediate_size=768, num_hidden_layers=3,
                                         num_attention_heads=4, num_key_value_heads=2, head_dim=64, use_cache=False))
    rows = torch.utils.data.DataLoader(Rows(length), batch_size=batch)
    model, optimizer, rows = accelerator.prepare(model, torch.optim.AdamW(model.parameters()), rows)
    for _, row in zip(range(2 * STEPS + 2), rows):
        with accelerator.accumulate(model):
            accelerator.backward(model(**row).loss)
            optimizer.step()
            optimizer.zero_grad()


def peft_lora(batch, length):
    from peft import LoraConfig, get_peft_model
    causal(get_peft_model(llama(), LoraConfig(r=16, target_modules="all-linear")), batch, length, autocast=torch.bfloat16)


def eight_bit_adam(batch, length):
    import bitsandbytes
    model = llama().to(torch.bfloat16)
    causal(model, batch, length, optimizer=bitsandbytes.optim.AdamW8bit(model.cuda().parameters()))


def moe(batch, length):
    from transformers import MixtralConfig, MixtralForCausalLM
    causal(MixtralForCausalLM(MixtralConfig(
        vocab_size=VOCABULARY, hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, num_local_experts=4, use_cache=False, output_router_logits=True)), batch, length)


def mamba(batch, length):
    from transformers import MambaConfig, MambaForCausalLM
    causal(MambaForCausalLM(MambaConfig(vocab_size=VOCABULARY, hidden_size=128, num_hidden_layers=1, state_size=16,
                                        use_cache=False)), batch, length)


def t5(batch, length):
    from transformers import T5Config, T5ForConditionalGeneration
    causal(T5ForConditionalGeneration(T5Config(vocab_size=VOCABULARY, d_model=256, d_kv=64, d_ff=512, num_layers=2, num_heads=4,
                                               use_cache=False, decoder_start_token_id=0)), batch, length)


def bert(batch, length):
    from transformers import BertConfig, BertForSequenceClassification
    model = BertForSequenceClassification(BertConfig(vocab_size=VOCABULARY, hidden_size=256, num_hidden_layers=3,
                                                     num_attention_heads=4, intermediate_size=512,
                                                     max_position_embeddings=65536, num_labels=2)).cuda().train()
    loop(model, lambda: tokens(batch, length).cuda(),
         lambda m, x: m(input_ids=x, attention_mask=torch.ones_like(x),
                        labels=torch.zeros(batch, dtype=torch.long, device="cuda")).loss, autocast=torch.float16)


def whisper(batch, length):
    from transformers import WhisperConfig, WhisperForConditionalGeneration
    model = WhisperForConditionalGeneration(WhisperConfig(
        vocab_size=VOCABULARY, d_model=256, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=512, decoder_ffn_dim=512, max_target_positions=65536, use_cache=False,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3)).cuda().train()
    loop(model, lambda: (torch.randn(batch, 80, 3000, device="cuda"), tokens(batch, length).cuda()),
         lambda m, pair: m(input_features=pair[0], labels=pair[1]).loss)


def clip(batch, length):
    from transformers import CLIPConfig, CLIPModel
    text = dict(vocab_size=VOCABULARY, hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=2,
                max_position_embeddings=65536, eos_token_id=2)
    vision = dict(hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=2, image_size=64, patch_size=16)
    model = CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=64)).cuda().train()
    loop(model, lambda: (tokens(batch, length).cuda(), torch.randn(batch, 3, 64, 64, device="cuda")),
         lambda m, pair: m(input_ids=pair[0], pixel_values=pair[1], return_loss=True).loss)


def pictures(model, batch, side, **options):
    labels = torch.zeros(batch, dtype=torch.long, device="cuda")
    loop(model.cuda().train(), lambda: torch.randn(batch, 3, side, side, device="cuda"),
         lambda m, x: torch.nn.functional.cross_entropy(m(x).float(), labels), **options)


def vit(batch, side):
    import timm
    pictures(timm.create_model("vit_tiny_patch16_224", depth=4, dynamic_img_size=True), batch, side, autocast=torch.bfloat16)


def convnext(batch, side):
    import timm
    pictures(timm.create_model("convnext_atto"), batch, side)


def resnet(batch, side):
    import torchvision
    model = torchvision.models.resnet18()
    pictures(model, batch, side, optimizer=torch.optim.SGD(model.cuda().parameters(), lr=0.1, momentum=0.9))


def unet(batch, side):
    from diffusers import DDPMScheduler, UNet2DModel
    model = UNet2DModel(sample_size=side, block_out_channels=(32, 64, 64), layers_per_block=1,
                        down_block_types=("DownBlock2D", "AttnDownBlock2D", "DownBlock2D"),
                        up_block_types=("UpBlock2D", "AttnUpBlock2D", "UpBlock2D")).cuda().train()
    schedule = DDPMScheduler(num_train_timesteps=1000)

    def loss_of(m, clean):
        noise = torch.randn_like(clean)
        times = torch.randint(0, 1000, (batch,), device="cuda")
        return torch.nn.functional.mse_loss(m(schedule.add_noise(clean, noise, times), times).sample, noise)

    loop(model, lambda: torch.randn(batch, 3, side, side, device="cuda"), loss_of)


def ddp(batch, length):
    torch.distributed.init_process_group("nccl")
    torch.cuda.set_device(0)
    model = torch.nn.parallel.DistributedDataParallel(gpt2().cuda(), device_ids=[0])
    loop(model, lambda: tokens(batch, length).cuda(), lambda m, x: m(input_ids=x, labels=x).loss, autocast=torch.bfloat16)


def fsdp2(batch, length):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    mesh = init_device_mesh("cuda", (int(os.environ["WORLD_SIZE"]),))
    model = llama().cuda()
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.model.layers:
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    causal(model, batch, length, clip=1.0)


def deepspeed(stage, model, batch, length):
    import deepspeed as ds
    ds.init_distributed()
    settings = {"train_micro_batch_size_per_gpu": batch, "bf16": {"enabled": True}, "gradient_clipping": 1.0,
                "zero_optimization": {"stage": stage}}
    model = model.to(torch.bfloat16)
    engine, *_ = ds.initialize(model=model, optimizer=torch.optim.AdamW(model.parameters()), config=settings)
    for _ in range(STEPS + 1):
        ids = tokens(batch, length).cuda()
        engine.backward(engine(input_ids=ids, labels=ids).loss)
        engine.step()


def deepspeed_zero2(batch, length):
    deepspeed(2, gpt2(), batch, length)


def deepspeed_zero3(batch, length):
    deepspeed(3, llama(), batch, length)


def megatron(batch, length):
    from megatron.core import parallel_state, tensor_parallel
    from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig
    from megatron.core.models.gpt import GPTModel
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
    from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
    from megatron.core.transformer.module import Float16Module
    from megatron.core.transformer.transformer_config import TransformerConfig
    torch.cuda.set_device(0)
    torch.distributed.init_process_group("nccl")
    parallel_state.initialize_model_parallel(1, 1)
    tensor_parallel.model_parallel_cuda_manual_seed(1)
    config = TransformerConfig(num_layers=3, hidden_size=256, num_attention_heads=4, bf16=True, params_dtype=torch.bfloat16,
                               hidden_dropout=0.0, attention_dropout=0.0, masked_softmax_fusion=False,
                               attention_softmax_in_fp32=False, gradient_accumulation_fusion=False,
                               apply_rope_fusion=False, persist_layer_norm=False)
    model = GPTModel(config, get_gpt_layer_local_spec(), vocab_size=VOCABULARY, max_sequence_length=length).cuda()
    model = DistributedDataParallel(config, DistributedDataParallelConfig(grad_reduce_in_fp32=True), Float16Module(config, model))
    optimizer = get_megatron_optimizer(OptimizerConfig(optimizer="adam", lr=1e-4, bf16=True, params_dtype=torch.bfloat16), [model])
    model.train()
    for _ in range(STEPS + 1):
        model.zero_grad_buffer()
        optimizer.zero_grad()
        ids = tokens(batch, length).cuda()
        mask = torch.triu(torch.ones((1, 1, length, length), dtype=torch.bool, device="cuda"), 1)
        positions = torch.arange(length, device="cuda").expand_as(ids)
        model(ids, positions, mask, labels=ids).float().mean().backward()
        model.finish_grad_sync()
        optimizer.step()


def torchtitan(batch, length):
    """The debug model of torchtitan with its own trainer: fully sharded, activations recomputed as it chooses."""
    from datasets import Dataset
    from tokenizers import Tokenizer, models, pre_tokenizers
    from torchtitan.hf_datasets import text_datasets
    from torchtitan.models.llama3 import config_registry
    words = Tokenizer(models.WordLevel({"<s>": 0, "</s>": 1, "one": 2}, unk_token="one"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    text_datasets.DATASETS["c4_test"].loader = lambda path: Dataset.from_dict({"text": ["one " * 4096] * 512})
    with tempfile.TemporaryDirectory() as folder:
        words.save(os.path.join(folder, "tokenizer.json"))
        with open(os.path.join(folder, "tokenizer_config.json"), "w") as out:
            json.dump({"bos_token": "<s>", "eos_token": "</s>", "add_bos_token": True, "add_eos_token": True}, out)
        config = config_registry.llama3_debugmodel_varlen_attn()
        config.hf_assets_path = config.dump_folder = folder
        config.training.local_batch_size = batch
        config.training.seq_len = length
        config.training.steps = STEPS + 1
        config.build().train()


#: What is a function here, by name.
PROGRAMS = {each.__name__: each for each in (
    encoder, gpt2_loop, llama_eager, llama_checkpointed, trainer_gpt2, trainer_llama, trl_lora, accelerate_loop, peft_lora,
    eight_bit_adam, moe, mamba, t5, bert, whisper, clip, vit, convnext, resnet, unet, ddp, fsdp2, deepspeed_zero2,
    deepspeed_zero3, megatron, torchtitan)}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](int(sys.argv[2]), int(sys.argv[3]))
