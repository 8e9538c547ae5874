"""The model of a script: what to import, how it is made, what it is fed."""
import dataclasses
from typing import Optional

TOKENS = "Tokens()"
CALL = "{called}(**batch{constants})"


@dataclasses.dataclass(frozen=True)
class Model:
    imports: str
    prepare: str            # lines that run before the model is made, such as reading its config
    expression: str         # makes the model; {options}: keywords of from_config, each after a comma
    block: tuple = ()       # (module, class) of the block that FSDP shards
    task: str = "CAUSAL_LM"  # of PEFT
    vocabulary: str = "config.vocab_size"
    data: str = ""          # the class of its examples, with {examples}, {fields}, {seq} and {target}; empty: tokens
    counted: str = ""       # what that class calls the tokens of a sequence; empty: it has their number
    fields: str = ""        # of an example, with {seq} and {target}
    mask: str = ""          # the field that tells padding, with {hidden}; empty: the forward takes none, or has it anyway
    masked: str = ""        # the length of that field's row, where it is not that of the tokens
    targets: bool = False   # labels have a length of their own
    dataset: str = TOKENS
    batches: str = ""       # in place of a loader of the dataset: an expression, with {steps} and {batch}
    other_batches: str = ""  # the same of another size, where a script asks for it; empty: `batches` has no size of its own
    load: str = "batch = {{name: tensor.to({device}) for name, tensor in batch.items()}}"
    arranges: tuple = ()    # lines that give a loaded batch the form that the forward takes
    call: str = CALL
    constants: str = ""     # further arguments of the call
    loss: str = "outputs.loss"
    turns: str = ""         # of several models: the generator of a step's (model, loss), whose call takes the place of `call` and `loss`
    checkpointing: str = "model.gradient_checkpointing_enable({arguments})"  # empty: it has none
    files: dict = dataclasses.field(default_factory=dict)  # beside the script
    has_config: bool = True  # `config` is transformers' configuration
    is_transformers: bool = True  # its factory takes a type and an attention, and its blocks are known to Trainer
    name: str = ""
    longest: Optional[int] = None  # tokens of a sequence, at most
    fed: str = ""           # inputs, where they are not what goes without saying
    assumed: str = ""       # what nobody said and most scripts say otherwise: a sentence
    varies: bool = False    # beside texts: its examples differ from batch to batch where the plan asks for that
    fixes: tuple = ()       # options of the plan that its own batch decides
    sizes: frozenset = frozenset()  # of given.WORDS, those that its batch follows

    @property
    def has_labels(self):
        """Tokens are their own labels; other examples may have none, and the loss is then something of the outputs."""
        return not self.fields or '"labels": ' in self.fields

    def construct(self, dtype=None, attention=None, experts=None):
        """The expression that makes it. dtype: of the weights, as in a script; None: fp32."""
        if not self.is_transformers:
            return self.expression + (f".to({dtype})" if dtype else "")
        given = {"dtype": dtype, "attn_implementation": attention and f'"{attention}"',
                 "experts_implementation": experts and f'"{experts}"'}
        return self.expression.format(options="".join(f", {name}={value}" for name, value in given.items() if value))


def of_transformers(auto_class, block=(), task="CAUSAL_LM", prepare='config = AutoConfig.from_pretrained(".")'):
    """A model from the config.json beside the script."""
    made = "from_config" if auto_class.startswith("Auto") else "_from_config"
    return Model(f"from transformers import AutoConfig, {auto_class}", prepare,
                 f"{auto_class}.{made}(config{{options}})", block, task)


def with_files(model, files):
    return dataclasses.replace(model, files={**model.files, **files})
