"""Training programs as their users write them, from what a run is to be (a job).

Nothing in them serves the recording: the same file runs on a GPU.
"""
from .accelerate import accelerate_script, fsdp_file
from .deepspeed import deepspeed_file, deepspeed_script
from .description import DEFAULTS
from .lines import indented, text
from .model_lines import data
from .optimizers import OPTIMIZERS, TRAINER_OPTIMIZERS
from .pipeline import SCHEDULES, pipeline_script
from .plain import plain_script
from .quantized import FILES as CHECKPOINT_FILES
from .teacher import files as teacher_files
from .torchtitan import CHECKPOINTS, torchtitan_files
from .torchtitan import PROGRAM as TORCHTITAN
from .trainer import sft_script, tokenizer_files, trainer_script
from .trl import LOOPS as TRL_LOOPS
from .trl import trl_script
from .turns import turns_script
from .wrapping import wrapping_alone

__all__ = ["CHECKPOINTS", "CHECKPOINT_FILES", "DEFAULTS", "OPTIMIZERS", "SCHEDULES", "TORCHTITAN", "TRAINER_OPTIMIZERS", "TRL_LOOPS", "accelerate_script", "data", "deepspeed_file", "deepspeed_script", "fsdp_file",
           "indented", "pipeline_script",
           "plain_script", "sft_script", "teacher_files", "text", "tokenizer_files", "torchtitan_files", "trainer_script", "trl_script", "turns_script", "wrapping_alone"]
