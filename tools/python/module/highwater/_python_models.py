"""A model that is Python, as the program's `--model FILE.py:function`, which makes it again in a process of its own.

A function at the top of a script stays where it is. Anything else is written to a file beside its pickle: of tensors
above a megabyte the shape alone, since on the fake GPU no value is ever read.
"""

from __future__ import annotations

import inspect
import io
import os
import pickle
import sys
import tempfile
import types
from typing import Any, NamedTuple

from highwater._errors import InputError

#: Set where a script runs a second time to find the classes that it defines.
AGAIN = "HIGHWATER_RUNS_SCRIPT_AGAIN"
_SMALL = 1 << 20


class PythonModel(NamedTuple):
    word: str  #: of --model
    held: tempfile.TemporaryDirectory[str] | None  #: the file lives as long as this


def python_model(model: Any) -> PythonModel:
    """`model`: a torch.nn.Module, a tuple of one with its batch and, if it likes, its loss function, or a function that
    returns either.

    @raises InputError if another process cannot make it again
    """
    if AGAIN in os.environ:
        raise _refused("this script runs again, to find the classes that it defines",
                       'put the question under if __name__ == "__main__", or install cloudpickle')
    if inspect.isfunction(model):
        return _of_function(model)
    _require_module(model)
    return _written(_LOADS_MODEL, _pickled(model))


def _require_module(model: Any) -> None:
    torch = sys.modules.get("torch")
    first = model[0] if isinstance(model, tuple) and model else model
    if torch is None or not isinstance(first, torch.nn.Module):
        raise _refused(f"found a value of type {type(first).__name__}",
                       "give a name, a file, a torch.nn.Module (with its batch in a tuple), or a function that makes it")


def _of_function(make: types.FunctionType) -> PythonModel:
    home = sys.modules.get(make.__module__)
    is_at_top = getattr(home, make.__qualname__, None) is make
    file = inspect.getsourcefile(make)
    if is_at_top and make.__module__ == "__main__" and file and os.path.exists(file):
        return PythonModel(f"{os.path.abspath(file)}:{make.__name__}", None)
    if is_at_top and make.__module__ != "__main__":
        return _written(f"from {make.__module__} import {make.__name__} as make\n", None)
    return _written(_LOADS_FUNCTION, _pickled(make))


def _written(code: str, content: bytes | None) -> PythonModel:
    folder = tempfile.TemporaryDirectory(prefix="highwater-model-")
    paths = [path for path in sys.path if path]
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    head = f"PATHS = {paths!r}\nMAIN = {os.path.abspath(main) if main else None!r}\n"
    with open(os.path.join(folder.name, "highwater_model.py"), "w", encoding="utf-8") as file:
        file.write(head + _FINDS_PATHS + (_LOADER if content is not None else "") + code)
    if content is not None:
        with open(os.path.join(folder.name, "model.pickle"), "wb") as pickled:
            pickled.write(content)
    return PythonModel(os.path.join(folder.name, "highwater_model.py") + ":make", folder)


def _pickled(value: Any) -> bytes:
    content = io.BytesIO()
    try:
        _pickler(content).dump(value)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise _refused(f"cannot be handed to another process: {error}",
                       "install cloudpickle, or give a function at the top of a file that makes it") from error
    return content.getvalue()


def _pickler(content: io.BytesIO) -> pickle.Pickler:
    try:
        from cloudpickle import Pickler as Base
    except ImportError:
        Base = pickle.Pickler
    numbers: dict[int, int] = {}

    class Pickler(Base):  # type: ignore[misc]
        def persistent_id(self, value: Any) -> Any:
            return _shape_of(value, numbers)

    made: pickle.Pickler = Pickler(content, protocol=pickle.HIGHEST_PROTOCOL)
    return made


def _shape_of(value: Any, numbers: dict[int, int]) -> tuple[Any, ...] | None:
    """What stands for a large tensor; None for everything else. Tied ones share a number."""
    torch = sys.modules.get("torch")
    if torch is None or type(value) not in (torch.Tensor, torch.nn.Parameter):
        return None
    if value.device.type == "cpu" and value.numel() * value.element_size() <= _SMALL:
        return None
    number = numbers.setdefault(id(value), len(numbers))
    return (number, type(value) is torch.nn.Parameter, tuple(value.shape), str(value.dtype).partition(".")[2],
            bool(value.requires_grad))


def _refused(what: str, try_: str) -> InputError:
    return InputError(f"model: {what}; {try_}", "model", "", what, try_)


_FINDS_PATHS = """import sys
sys.path += [path for path in PATHS if path not in sys.path]
"""

_LOADER = f"""import functools
import os
import pickle
import runpy
import torch


@functools.cache
def script():
    os.environ["{AGAIN}"] = "1"
    return runpy.run_path(MAIN, run_name="highwater_main")


class Unpickler(pickle.Unpickler):
    tensors = {{}}

    def find_class(self, module, name):
        return script()[name] if module == "__main__" else super().find_class(module, name)

    def persistent_load(self, key):
        number, is_parameter, shape, dtype, requires_grad = key
        if number not in self.tensors:
            made = torch.empty(shape, dtype=getattr(torch, dtype))
            self.tensors[number] = torch.nn.Parameter(made, requires_grad) if is_parameter else \\
                made.requires_grad_(requires_grad)
        return self.tensors[number]


def loaded():
    with open(os.path.join(os.path.dirname(__file__), "model.pickle"), "rb") as file:
        unpickler = Unpickler(file)
        unpickler.tensors = {{}}
        return unpickler.load()


"""

_LOADS_MODEL = """def make():
    return loaded()
"""

_LOADS_FUNCTION = "make = loaded()\n"
