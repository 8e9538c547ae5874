"""Python imports this module before a script: the folder comes first on PYTHONPATH under `highwater record`.

It starts the recorder and then runs the sitecustomize that it hides, if there is one.
"""
import importlib.machinery
import importlib.util
import os
import sys


def _run_shadowed_sitecustomize():
    here = os.path.dirname(os.path.abspath(__file__))
    elsewhere = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if os.environ.get("HIGHWATER_RECORD_STATUS"):
    import highwater_record

    highwater_record.install()
_run_shadowed_sitecustomize()
