"""A model's name with keywords of its builder, as a script calls it: deeplabv3_resnet50(aux_loss=True).

The text may come from a file, so values are read as literals and never run.
"""
import ast

from .asking import UnknownModel

_PLAIN = (bool, int, float, str, type(None))


def called(text):
    """(name, {keyword: value}). @raises UnknownModel"""
    name, opened, rest = text.partition("(")
    if not opened:
        return text, {}
    try:
        return name, _literals(ast.parse(f"made({rest}", mode="eval").body)
    except (SyntaxError, ValueError):
        raise UnknownModel(f"--model {text}: behind the name stand keywords of its builder, with numbers, texts, True, False, "
                           f"None or tuples of these: {name}(drop_rate=0.1)") from None


def _literals(call):
    """@raises ValueError"""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
        raise ValueError("no call with keywords alone")
    found = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
    if None in found or not all(map(_is_plain, found.values())):
        raise ValueError("no plain value")
    return found


def _is_plain(value):
    return all(isinstance(each, _PLAIN) for each in (value if isinstance(value, (tuple, list)) else [value]))
