"""The model of a script: what to import, how it is made, what it is fed."""
import dataclasses

TOKENS = "Tokens()"


@dataclasses.dataclass(frozen=True)
class Model:
    imports: str
    prepare: str            # lines that run before the model is made, such as reading its config
    expression: str         # makes the model; {options}: keywords of from_config, each after a comma
    block: tuple = ()       # (module, class) of the block that FSDP shards
    task: str = "CAUSAL_LM"  # of PEFT
    vocabulary: str = "config.vocab_size"
    data: str = ""          # the class of its examples, with {examples} and {fields}; empty: tokens
    fields: str = ""        # of an example, with {seq}
    dataset: str = TOKENS
    loss: str = "outputs.loss"
    files: dict = dataclasses.field(default_factory=dict)  # beside the script
    has_config: bool = True  # `config` is transformers' configuration

    def construct(self, options):
        return self.expression.format(options=options)


def of_transformers(auto_class, block=(), task="CAUSAL_LM", prepare='config = AutoConfig.from_pretrained(".")'):
    """A model from the config.json beside the script."""
    return Model(f"from transformers import AutoConfig, {auto_class}", prepare,
                 f"{auto_class}.from_config(config{{options}})", block, task)


def with_files(model, files):
    return dataclasses.replace(model, files={**model.files, **files})
