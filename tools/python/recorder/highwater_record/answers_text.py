"""The text of --answers: nonzero=COUNT,item=VALUE (see answers.py for their meaning)."""


def parse(text):
    """{"nonzero": 0.25, "item": 1.0}. @raises ValueError that names the wrong part"""
    found = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if name not in ("nonzero", "item") or not equals:
            raise ValueError(f"{part!r}: expected nonzero=COUNT or item=VALUE")
        found[name] = float(value)
    return found
