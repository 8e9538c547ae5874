"""The half of a case: one may be used for tuning, the other is only reported.

The rule is fixed and needs no list. From the case as written, these are left out: whatever is irrelevant to the
run (id, note, tags, stacks), what is the device's (rig, and the backend of dist, which stands in for a network), and
every field that has its default. The rest as JSON - keys sorted, no spaces, ASCII - goes through SHA-256; held out is
a case whose digest begins with an odd byte. So a case is in the same half on every device, under every id, and
stays there when the vocabulary grows.
"""

import hashlib
import json

from .case_fields import DEFAULTS

RULE = ("SHA-256 of the case without id, note, tags, stacks, rig, dist.backend and fields at their default, as JSON "
        "with sorted keys and no spaces; held out if the first byte is odd")
LEFT_OUT = ("id", "note", "tags", "stacks", "rig")
TUNING, HELD_OUT, FACTS = "tuning", "held-out", "facts"


def canonical(case):
    fields = {key: value for key, value in case.items() if key not in LEFT_OUT}
    if "dist" in fields:
        fields["dist"] = {key: value for key, value in fields["dist"].items() if key != "backend"}
    fields = {key: value for key, value in fields.items() if value != DEFAULTS.get(key, ...)}
    return json.dumps(fields, sort_keys=True, separators=(",", ":"))


def half_of(case):
    """TUNING or HELD_OUT; FACTS for probes, which have no simulation to compare with."""
    if case.get("probe"):
        return FACTS
    first = hashlib.sha256(canonical(case).encode("ascii")).digest()[0]
    return HELD_OUT if first % 2 else TUNING
