"""Launchers start one process per rank; here the process itself becomes the one rank that is recorded."""
import os
import subprocess
import sys

GPUS_PER_NODE = 8


def become_rank(options, world_size, environment=os.environ):
    """Sets the variables that torchrun gives each rank; `world_size` applies unless the user set one."""
    world = options.world_size or world_size
    local = min(world, GPUS_PER_NODE)
    environment.update({
        "RANK": str(options.rank), "WORLD_SIZE": str(world),
        "LOCAL_RANK": str(options.rank % local), "LOCAL_WORLD_SIZE": str(local),
        "GROUP_RANK": str(options.rank // local), "GROUP_WORLD_SIZE": str((world + local - 1) // local),
        "ROLE_RANK": str(options.rank), "ROLE_WORLD_SIZE": str(world),
        "HIGHWATER_RECORD_WORLD_SIZE": str(world), "FAKE_CUDA_DEVICES": str(local),
    })
    environment.setdefault("MASTER_ADDR", "127.0.0.1")
    environment.setdefault("MASTER_PORT", "29500")


def launch_one_rank(module, options):
    """torchrun, python -m torch.distributed.run and accelerate launch all end in elastic_launch(config, entry)(*args).

    module: torch.distributed.launcher.api, just imported.
    """

    def call(self, *args):
        become_rank(options, self._config.max_nodes * self._config.nproc_per_node)
        if callable(self._entrypoint):
            return {options.rank: self._entrypoint(*args)}
        sys.stdout.flush()
        os.execvp(self._entrypoint, [self._entrypoint, *args])  # a new process image, with the new variables

    module.elastic_launch.__call__ = call


class _Finished:
    """What spawn(..., join=False) returns: there is nothing to wait for."""

    processes = ()

    def join(self, *_, **__):
        return True

    def pids(self):
        return [os.getpid()]


def spawn_one_rank(module, options):
    """torch.multiprocessing.spawn(fn, args, nprocs) calls fn(rank, *args) in this process.

    module: torch.multiprocessing.spawn, just imported.
    """

    def start_processes(fn, args=(), nprocs=1, join=True, *_, **__):
        become_rank(options, nprocs)
        fn(options.rank % nprocs, *args)
        return None if join else _Finished()

    def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
        return start_processes(fn, args, nprocs, join)

    module.start_processes = start_processes
    module.spawn = spawn


def keep_one_process(options, command_line=None):
    """The deepspeed launcher starts the ranks of a node itself: of its processes only the recorded rank's runs."""
    if "deepspeed.launcher.launch" not in (command_line or _command_line()):
        return
    start = subprocess.Popen

    def Popen(command, *args, env=None, **kwargs):  # noqa: N802
        if env is None or "LOCAL_RANK" not in env:
            return start(command, *args, env=env, **kwargs)
        world = int(env["WORLD_SIZE"])
        local = min(options.world_size or world, GPUS_PER_NODE, int(env.get("LOCAL_SIZE", world)))
        if int(env["LOCAL_RANK"]) != options.rank % local:
            return start(["true"], *args, env=env, **kwargs)  # the launcher waits for each rank's process
        environment = dict(env)
        become_rank(options, world, environment)
        return start(command, *args, env=environment, **kwargs)

    subprocess.Popen = Popen


def _command_line():
    """Python's arguments, as sys.orig_argv of 3.10 has them."""
    try:
        with open("/proc/self/cmdline", encoding="utf-8", errors="replace") as file:
            return file.read().split("\0")
    except OSError:
        return []
