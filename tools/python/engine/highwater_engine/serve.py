"""A process that has torch loaded and runs scripts in forks of itself, one for each line it reads.

A line is a JSON object: "options", "changed" and "model" (job.py), "rank", "environment": variables to set, "folder": an
empty one for the script and its files, "limit": seconds. With "only_asks" nothing is run. The answer, also a line: "refused":
why this plan cannot be carried out; or "status": the exit status (negative: a signal), "reason": "timeout", or "device" when a fork cannot use
the device because something that was loaded has touched it, "log": the end of what the script printed. The status file
of the recorder says the rest.
"""
import ast
import importlib
import json
import os
import select
import signal
import sys
import time
import traceback
import types

from . import architectures, job

_NO_DEVICE = 97  # exit status of a fork that cannot use the device


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what scripts and libraries print is no answer
    _tell(answers, _prepare())
    for line in sys.stdin:
        _tell(answers, _run(json.loads(line)))


def _tell(answers, answer):
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def _prepare():
    """Loads torch; the releases of what plans are made of."""
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # torch.cuda.is_available() asks NVML, not the driver
    import torch
    return {"python": sys.version.split()[0], "torch": str(torch.__version__), "transformers": _release("transformers")}


def _release(package):
    from importlib import metadata
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _run(request):
    try:
        made = job.from_request(request)
    except (job.Refused, architectures.UnknownModel) as refusal:
        return {"refused": str(refusal)}
    except Exception as error:  # a configuration that transformers' own code cannot take
        return {"refused": f"transformers does not take this model: {type(error).__name__}: {error}"}
    if request["only_asks"]:
        return {"status": 0}
    job.write(made, request["folder"])
    environment = {**request["environment"], **job.variables(made, request["rank"])}
    answer = _run_script({**request, "environment": environment, "script": os.path.join(request["folder"], "train.py"),
                          "log": os.path.join(request["folder"], "log")})
    return {**answer, "log": _end_of(os.path.join(request["folder"], "log"))}


def _end_of(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()[-2000:]
    except OSError:
        return ""


def _run_script(run):
    _load_imports(run["script"])
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _become(run)
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            break
        if time.monotonic() - began > run["limit"]:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return {"status": -signal.SIGKILL, "reason": "timeout"}
        if _is_alone():
            os.killpg(pid, signal.SIGKILL)
            os._exit(1)
        time.sleep(0.002)
    code = os.waitstatus_to_exitcode(status)
    return {"status": code, "reason": "device" if code == _NO_DEVICE else None}


def _is_alone():
    """Nobody waits for an answer: the other end of the questions is closed."""
    watched = select.poll()
    watched.register(0, select.POLLHUP)
    return any(event & (select.POLLHUP | select.POLLERR) for _, event in watched.poll(0))


def _load_imports(path):
    """Imports what the script imports first, so that the next script finds it loaded."""
    with open(path, encoding="utf-8") as file:
        body = ast.parse(file.read()).body
    for statement in body:
        names = []
        if isinstance(statement, ast.Import):
            names = [(alias.name, None) for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom) and statement.level == 0:
            names = [(statement.module, alias.name) for alias in statement.names]
        for module, name in names:
            try:
                getattr(importlib.import_module(module), name or "__name__", None)
            except Exception:  # the script meets it again, and its message is the one to show
                return


def _become(run):
    """The fork: runs the script and does not return."""
    code = 1
    try:
        os.setpgid(0, 0)
        log = os.open(run["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir(run["folder"])
        code = _execute(run)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException as error:
        sys.last_value = error  # where the recorder looks for what ended the script
        traceback.print_exc()
    finally:
        _write_recording()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _execute(run):
    import torch
    if torch.cuda._is_in_bad_fork():
        return _NO_DEVICE
    os.environ.update(run["environment"])
    import highwater_record
    highwater_record.adopt(os.environ)
    sys.argv = [run["script"]]
    sys.path.insert(0, run["folder"])
    with open(run["script"], encoding="utf-8") as file:
        code = compile(file.read(), run["script"], "exec")
    main = sys.modules["__main__"] = types.ModuleType("__main__")  # what it holds lives until the process ends
    main.__file__ = run["script"]
    exec(code, vars(main))
    return 0


def _write_recording():
    """The end of a process without its exit handlers: those of the parent's modules belong to the parent."""
    from highwater_record import recorder
    if recorder._crashing is not None:
        recorder._crashing.write("exit")


if __name__ == "__main__":
    main()
