"""Keeps torch.compile from compiling this package.

Whatever Python runs inside a compiled function is offered to Dynamo, also the kernels of dispatch_key.py.
"""
import sys
import types

from . import after_import

_PACKAGE = __package__ + "."


def leave_alone():
    """Marks all functions of the package's modules, with those inside of them, as soon as there is a Dynamo."""
    after_import.after("torch._dynamo.eval_frame", _skip)


def _skip(eval_frame):
    for name, module in list(sys.modules.items()):
        if name.startswith(_PACKAGE):
            for value in vars(module).values():
                for code in _codes_of(value, name):
                    eval_frame.skip_code(code)


def _codes_of(value, module):
    if isinstance(value, type) and value.__module__ == module:
        for member in vars(value).values():
            yield from _codes_of(member, module)
    elif isinstance(value, types.FunctionType) and value.__module__ == module:
        yield from _with_inner(value.__code__)


def _with_inner(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _with_inner(constant)
