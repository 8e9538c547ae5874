"""Plans in the options of `highwater simulate` as jobs, framework by framework."""
from .plain import plain
from .trainer import sft, trainer

FRAMEWORKS = {"hf": plain, "torch": plain, "trainer": trainer, "trl-sft": sft}
