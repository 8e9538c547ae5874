"""Lines of a script, put together."""

TORCH_TYPES = {"fp32": "torch.float32", "bf16": "torch.bfloat16", "fp16": "torch.float16"}


def text(*parts):
    """Lines of a script; what a job lacks is None or empty."""
    return "\n".join(part for part in parts if part)


def indented(lines, by=4):
    return "\n".join(" " * by + line if line else line for line in lines.split("\n"))
