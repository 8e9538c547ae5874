"""transformers' TrainingArguments, with what the argument parser leaves to the script."""

from training_arguments import meaning_of
from transformers import HfArgumentParser, TrainingArguments

# Arguments of 4.57 that 5 dropped: a line that has one is of another release.
DROPPED = {"adafactor", "fp16_backend", "fsdp_min_num_params", "fsdp_transformer_layer_cls_to_wrap", "group_by_length",
           "half_precision_backend", "include_inputs_for_metrics", "include_tokens_per_second", "jit_mode_eval",
           "logging_dir", "no_cuda", "overwrite_output_dir", "past_index", "per_gpu_eval_batch_size",
           "per_gpu_train_batch_size", "push_to_hub_model_id", "push_to_hub_organization", "push_to_hub_token",
           "save_safetensors", "torchdynamo", "use_mps_device", "warmup_ratio", "evaluation_strategy", "sharded_ddp"}


def meaning(request):
    parsed = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses(
        ["--output_dir", "out", *request["argv"]], return_remaining_strings=True)
    old = {word.lstrip("-").partition("=")[0].replace("-", "_") for word in parsed[-1]} & DROPPED
    if old:
        raise ValueError(f"of transformers 4: {sorted(old)}")
    return meaning_of(parsed[0])
