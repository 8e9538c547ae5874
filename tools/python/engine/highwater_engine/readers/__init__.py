"""Plans in the options of `highwater simulate` as jobs, framework by framework."""
from ..scripts import TRL_LOOPS
from .accelerate import accelerate, accelerate_fsdp2
from .deepspeed import deepspeed
from .plain import plain
from .torchtitan import torchtitan
from .trainer import of_trl, sft, trainer

FRAMEWORKS = {"hf": plain, "torch": plain, "trainer": trainer, "trl-sft": sft, **{f"trl-{loop}": of_trl for loop in TRL_LOOPS}, "accelerate": accelerate, "accelerate-fsdp2": accelerate_fsdp2,
              "deepspeed": deepspeed, "torchtitan": torchtitan}
