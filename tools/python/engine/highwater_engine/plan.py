"""What a plan says, read so that nothing it says is passed over; and the job that is made of it."""
import dataclasses


class Refused(Exception):
    """This engine cannot carry out the plan; the message is a sentence for the user."""


@dataclasses.dataclass
class Job:
    script: str
    files: dict          # name -> text, beside the script
    ranks: int = 1
    environment: dict = dataclasses.field(default_factory=dict)
    accelerate_config: str = ""  # the file that `accelerate launch` reads; empty: torchrun starts the ranks
    is_launched: bool = False  # by torchrun, on one GPU as well
    way: int = 0         # which of the ways to train its model it is
    note: str = ""       # what a reader of the result should know of the model and its batch
    assumed: str = ""    # a sentence: what the answer takes for granted, and most scripts do not keep


def as_option(value):
    """As a command line has it."""
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


class Plan:
    """options: all of them; changed: the names of those that differ from the defaults of the plan's framework."""

    def __init__(self, options, changed, teacher=None):
        """teacher: models.Model of --teacher"""
        self.teacher = teacher
        self._options = options
        self._changed = frozenset(changed)
        self._unread = set(changed)

    def __getitem__(self, name):
        self._unread.discard(name)
        return self._options[name]

    def get(self, name):
        """None for what the plan leaves to the model."""
        return self[name] if name in self._options else None

    def ignore(self, names):
        """What somebody else reads."""
        self._unread.difference_update(names)

    def is_changed(self, name):
        return name in self._changed

    def one_of(self, name, *words):
        """The value, if the script can say it. @raises Refused"""
        value = self[name]
        if value not in words:
            known = ", ".join(dict.fromkeys(as_option(word) for word in words))
            raise Refused(f"--{name.replace('_', '-')} {as_option(value)}: --engine torch knows {known}; use one of these, "
                          "or --engine model")
        return value

    def refuse_changed(self, *names):
        """Options that the program itself decides, or that this engine leaves as they are. @raises Refused"""
        for name in names:
            if self.is_changed(name):
                raise Refused(f"--{name.replace('_', '-')}: --engine torch leaves this to the framework; omit it, "
                              "or use --engine model")

    def require_all_read(self):
        if self._unread:
            names = ", ".join("--" + name.replace("_", "-") for name in sorted(self._unread))
            raise Refused(f"{names}: --engine torch does not pass this on to the script; omit it, or use --engine model")
