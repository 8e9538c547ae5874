"""What a job says, with what it says where nobody says otherwise."""

DEFAULTS: dict = {
    "model": None,        # models.Model
    "batch": 1, "seq": (1024,),  # sequences per micro-batch; tokens in each, in turns
    "examples": 4096,     # of the data, which end the script
    "weights": "fp32", "autocast": None, "compile": False, "float8": False,
    "init": "cpu",        # cpu | device
    "attention": None, "experts": None,  # of from_config; None: transformers' own choice
    "checkpoint": False, "reentrant": False,
    "lora": 0, "lora_targets": (), "lora_dropout": 0.0, "dora": False,
    "peft": None,         # the configuration of other adapters
    # Weights of frozen layers in 4 or 8 bits; whether the loop turns checkpointing on again.
    "quantize": None, "double_quant": False, "quant_storage": "uint8", "quant_compute_dtype": "bf16",
    "prepares_kbit": False, "checkpoints_itself": False,
    "keeps_outputs": True, "mask": "", "training": True,  # mask: full | padded; empty: none is given
    "target": None,       # tokens of the labels, where they are others than those of the inputs
    "varies": False,      # whether each batch has lengths of its own
    "names_tensors": False,  # each tensor of a batch has a variable of its own
    "accumulate": 1, "no_sync": False,
    "optimizer": "adamw", "implementation": None, "optimizer_rank": 128, "param_groups": 1, "weight_decay": 0, "clip": None,
    "zeroes_at": "end", "set_to_none": True, "empties_cache": False,
    # Over ranks; tensor_ranks of them, and as many copies as `replicas`, are in `ranks`.
    "device": "cuda", "sharding": "none", "ranks": 1, "tensor_ranks": 1, "tensor_plan": None, "replicas": 1,
    "ddp": ", device_ids=[rank]",  # keywords of DistributedDataParallel
    "redundancy": "none",  # ZeroRedundancyOptimizer: none | parameters | buckets
    "param_dtype": "bf16", "reduce_dtype": "fp32", "reshard": None,
    "strategy": None, "keeps_parameters": True, "offloads_parameters": False, "offloads_activations": False,
    # Of the parts of a sequence, and what a script's data calls the labels.
    "context_ranks": 1, "shifted_labels": '"labels": tokens[1:]',
    # Of a pipeline: its ranks, the parts of the model on each, blocks, and the class of stages.py.
    "stages": 1, "chunks": 1, "schedule": "1f1b", "layers": 0, "stage_class": "Stage",
    "loop": None, "reference": False,  # TRL's trainer, and whether a frozen model answers beside it
    "averages": False,    # a copy of the model is averaged after each step
    "teacher": None,      # models.Model: frozen, given the same batches
    "frozen": (), "freezes_others": False,  # last parts of modules' names; whether all others are frozen instead
    "arguments": (),      # further keywords of TrainingArguments
    "evaluation": None,   # between steps: sequences of its data, and what is gathered of their outputs
    "mixed": "bf16", "makes_plugin": False,              # accelerate
    "stage": 0, "zero": {}, "zero_init": False,          # DeepSpeed
}
