"""TRL's own parser of `trl sft`: ScriptArguments, SFTConfig and ModelConfig, from a launch line and its --config."""

from training_arguments import meaning_of
from trl import ModelConfig, ScriptArguments, SFTConfig, TrlParser
from words import TYPES, named


def quantization_of(model):
    if model.load_in_8bit:
        return "int8"
    return model.bnb_4bit_quant_type if model.load_in_4bit else "none"


def meaning(request):
    words = request["argv"] + ([] if "--output_dir" in request["argv"] else ["--output_dir", "out"])
    words += [] if "--dataset_name" in words or "dataset_name" in str(request["files"]) else ["--dataset_name", "text"]
    parsed = TrlParser((ScriptArguments, SFTConfig, ModelConfig)).parse_args_and_config(args=words)
    _, arguments, model = parsed[:3]
    weights = TYPES.get(named(model.dtype))
    return {**meaning_of(arguments), "sequence": arguments.max_length, "lora": model.lora_r if model.use_peft else 0,
            "quantize": quantization_of(model), **({"weights": weights} if weights else {})}
