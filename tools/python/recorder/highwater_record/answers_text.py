"""The text of --answers: nonzero=COUNT,item=VALUE (answers.py says what they mean)."""


def parse(text):
    """{"nonzero": 0.25, "item": 1.0}. @raises ValueError, saying which part"""
    found = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if name not in ("nonzero", "item") or not equals:
            raise ValueError(f"{part!r}: nonzero=COUNT or item=VALUE was expected")
        found[name] = float(value)
    return found
