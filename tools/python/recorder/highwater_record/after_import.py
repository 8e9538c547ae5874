"""Calls a function right before or right after a module is imported, without importing it."""
import importlib.abc
import importlib.util
import sys

_before: dict = {}
_after: dict = {}


def before(name, function):
    _before.setdefault(name, []).append(function)
    _watch()


def after(name, function):
    """Calls function(module), at once if the module has already been imported."""
    if name in sys.modules:
        function(sys.modules[name])
    else:
        _after.setdefault(name, []).append(function)
        _watch()


class _Loader(importlib.abc.Loader):
    """The module's own loader, and the functions that wait for it."""

    def __init__(self, loader, name):
        self._loader = loader
        self._name = name

    def __getattr__(self, attribute):
        return getattr(self._loader, attribute)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        for function in _after.pop(self._name, []):
            function(module)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name not in _before and name not in _after:
            return None
        for function in _before.pop(name, []):
            function()
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None and name in _after:
                    spec.loader = _Loader(spec.loader, name)
                return spec
        return None


_finder = _Finder()


def _watch():
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
