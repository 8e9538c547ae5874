"""train_with_trl.py [lora] [checkpointing]: Llama 3.2 1B in bf16 on full rows of 1024 tokens with TRL's SFTTrainer."""
import sys
import tempfile

from datasets import Dataset
from peft import LoraConfig
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

import configurations

LENGTH = 1024
WORDS = ["<s>", "</s>", "<pad>", "one", "two", "three"]


def tokenizer():
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="one"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=words, bos_token="<s>", eos_token="</s>", pad_token="<pad>")


def main():
    rows = Dataset.from_dict({"text": ["one two three " * LENGTH] * 100})
    adapters = LoraConfig(r=16, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    with tempfile.TemporaryDirectory() as folder:
        settings = SFTConfig(output_dir=folder, max_steps=3, per_device_train_batch_size=2, max_length=LENGTH, bf16=True,
                             gradient_checkpointing="checkpointing" in sys.argv, report_to=[], save_strategy="no")
        SFTTrainer(model=configurations.make("llama-3.2-1b", "bfloat16"), args=settings, train_dataset=rows,
                   processing_class=tokenizer(), peft_config=adapters if "lora" in sys.argv else None).train()


main()
