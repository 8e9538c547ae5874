"""Plans in the options of `highwater simulate` as jobs, framework by framework."""
from .accelerate import accelerate
from .deepspeed import deepspeed
from .plain import plain
from .torchtitan import torchtitan
from .trainer import sft, trainer

FRAMEWORKS = {"hf": plain, "torch": plain, "trainer": trainer, "trl-sft": sft, "accelerate-fsdp2": accelerate,
              "deepspeed": deepspeed, "torchtitan": torchtitan}
