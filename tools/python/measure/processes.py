"""A process for each case: a fork of one that has already loaded torch, or a fresh one.

Loading torch and transformers takes several seconds, a case often less. A fork starts with them loaded; it needs a
parent that has not touched the device. Settings of the allocator are read when torch is loaded, in some releases, so
a case with settings has a fresh process.
"""

import json
import os
import signal
import subprocess
import sys
import traceback

from . import simulated_device


class Forked:
    """work() in a child; the interface is that of subprocess.Popen as far as it is used."""

    def __init__(self, work, log_path, environment):
        sys.stdout.flush()
        sys.stderr.flush()
        self.returncode = None
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
                os.dup2(log, 1)
                os.dup2(log, 2)
                os.environ.update(environment)
                work()
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)  # no destructors: a half-torn-down process group or device must not hang the run

    def poll(self):
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        self.returncode = os.waitstatus_to_exitcode(status)


class Fresh:
    """`script` once more, as the worker of one case."""

    def __init__(self, script, case_path, arguments, log_path, environment):
        cleared = {key: value for key, value in os.environ.items()
                   if key not in ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")}
        with open(log_path, "w") as log:
            self.process = subprocess.Popen([sys.executable, str(script), "worker", str(case_path), *arguments],
                                            env={**cleared, **environment}, stdout=log, stderr=log)

    def poll(self):
        return self.process.poll()

    def kill(self):
        self.process.kill()
        self.process.wait()


def case_environment(case):
    """Variables that a case sets for its process."""
    variables = simulated_device.case_variables(case.get("rig") or {})
    if case.get("alloc_conf"):
        variables["PYTORCH_CUDA_ALLOC_CONF"] = case["alloc_conf"]
    return variables


def preload(cases):
    """Loads what the cases need into this process, without touching the device.

    @raises MissingError if torch or transformers is missing
    """
    from . import environment, presets
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # torch.cuda.is_available() asks NVML, not the driver
    for key in ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"):
        os.environ.pop(key, None)
    environment.import_torch()
    families = {presets.family_of(case) for case in cases if case.get("model")} - {"plain"}
    if families:
        environment.import_transformers()
        from . import models  # which loads torch
        for family in sorted(families):
            models.classes_of(family)


def describe_device(script):
    """Versions and device of this machine, as a fresh process sees them. @raises MissingError"""
    from .environment import MissingError
    done = subprocess.run([sys.executable, str(script), "device"], capture_output=True, text=True)
    if done.returncode != 0:
        raise MissingError(done.stderr.strip().removeprefix("measure: ") or "the process that asked for the device died")
    return json.loads(done.stdout)


def problem_of_forks():
    """Why a fork of this process cannot use the device (something loaded has touched it); None if it can."""
    from . import environment
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        try:
            environment.require_device(environment.import_torch())
            answer = "works"
        except BaseException as error:
            answer = str(error)
        os.write(write, answer.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    return None if answer == "works" else answer or "it died"
