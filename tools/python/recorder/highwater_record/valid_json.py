"""JSON as RFC 8259 has it, which knows no infinite numbers. json.dumps writes them all the same, and accelerate puts
one into DeepSpeed's configuration (steps_per_print; 1.15, utils/dataclasses.py DeepSpeedPlugin)."""

import json
import math


def dumps(value):
    """`value` as text; "Infinity", "-Infinity" and "NaN" are texts in it, and what JSON has no form for is as printed."""
    return json.dumps(_finite(value), default=str, allow_nan=False)


def _finite(value):
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return value
