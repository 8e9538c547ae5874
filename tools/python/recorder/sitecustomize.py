"""Python imports this module before a script: the folder comes first on PYTHONPATH under `highwater record`.

It starts the recorder and then runs the sitecustomize that it hides, if there is one.
"""
import os
import sys


def _without_working_folder(folders):
    """On sys.path where PYTHONPATH has an empty word: what starts here must not run a json.py that happens to lie there."""
    try:
        return [folder for folder in folders if folder != os.getcwd()]
    except OSError:  # it has been removed
        return folders


_everywhere = sys.path[:]
sys.path[:] = _without_working_folder(_everywhere)
import importlib.machinery  # noqa: E402
import importlib.util  # noqa: E402

if os.environ.get("HIGHWATER_RECORD_STATUS"):
    import highwater_record

    highwater_record.install()
sys.path[:] = _everywhere


def _run_shadowed_sitecustomize():
    here = os.path.dirname(os.path.abspath(__file__))
    elsewhere = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_run_shadowed_sitecustomize()
