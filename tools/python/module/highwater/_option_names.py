"""What the program's help says of its options; written by make_options.py."""

#: Those that take no value.
SWITCHES = frozenset({
    "accept",
    "compare",
    "decisions",
    "estimates",
    "explain",
    "fail-on-oom",
    "find-batch",
    "finish-step",
    "formulas-only",
    "github",
    "help",
    "help-all",
    "ignore-free-order",
    "keep-torch",
    "print-grid",
    "print-options",
    "published",
    "resume",
    "stacks",
    "tensor-first",
    "timeline",
    "tp-comm-overlap",
})

#: Commands whose work can be cut into parts.
SHARDED = frozenset({
    "chance",
    "plan",
    "scan",
    "simulate",
    "sweep",
    "validate",
})

#: Those of the commands that a report draws, which the report itself lacks.
NOT_OF_REPORT = frozenset({
    "bridge",
    "decisions",
    "estimates",
    "fail-on-oom",
    "find-batch",
    "for",
    "format",
    "help",
    "help-all",
    "journal",
    "max-reserved",
    "output",
    "piece-times",
    "print-grid",
    "print-options",
    "rank",
    "resume",
    "set",
    "shard",
    "stall-after",
    "timeline",
    "top",
})
