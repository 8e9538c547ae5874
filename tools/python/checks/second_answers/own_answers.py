"""The program's own answers: a process of its Python for each program, asked line by line."""

import json
import os
import select
import subprocess
from pathlib import Path

SERVE = Path(__file__).resolve().parent / "own" / "serve.py"
SECONDS = 300  # the first answer waits for the program's imports


class OwnParser:
    """python: of the program; libraries: what stands for NVIDIA's."""

    def __init__(self, program, python, libraries, path=()):
        self.program, self.python, self.path = program, python, path
        self.libraries = libraries
        self.process = None

    def environment(self):
        more = os.pathsep.join([*self.path, os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
        return {**os.environ, "PYTHONPATH": more, "HF_HUB_OFFLINE": "1", "DISABLE_VERSION_CHECK": "1", "DO_NOT_TRACK": "1",
                "FAKE_CUDA_DEVICES": "8", "CUDA_VISIBLE_DEVICES": "0", "PYTHONWARNINGS": "ignore",
                "LD_LIBRARY_PATH": str(self.libraries), "TRANSFORMERS_VERBOSITY": "critical", "AXOLOTL_DO_NOT_TRACK": "1"}

    def start(self):
        self.process = subprocess.Popen([self.python, str(SERVE), self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, env=self.environment())

    def answer(self, request):
        if self.process is None or self.process.poll() is not None:
            self.start()
        try:
            print(json.dumps(request), file=self.process.stdin, flush=True)
            if select.select([self.process.stdout], [], [], SECONDS)[0]:
                return json.loads(self.process.stdout.readline())
        except (BrokenPipeError, json.JSONDecodeError):
            pass
        self.stop()
        return {"failed": "the program's process ended or hung"}

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
