"""Records the memory history of an unchanged training script on a fake CUDA device.

`highwater record` puts this package on PYTHONPATH and passes its options in
HIGHWATER_RECORD_... variables (settings.py).
Nothing happens until the script imports torch: then the fake CUDA libraries are loaded in place of NVIDIA's, and when
torch initialises CUDA, before the first allocation, the recording starts.
"""
from . import (after_import, autotuning, deepspeed_checks, distributed, distributions, host_weights, launchers, libraries, pipelines,
               recorder, settings, symmetric_memory)
from .experts import deepspeed_gates

_options = None


def install():
    """Arranges everything for this process; called once, at Python's start."""
    global _options
    options = _options = settings.from_environment()
    after_import.before("torch", lambda: libraries.load(options))
    after_import.after("torch", lambda torch: _on_torch(torch, options))
    after_import.after("torch.nn.init", host_weights.leave_untouched)
    after_import.after("transformers.modeling_utils", host_weights.leave_untouched_by_transformers)
    after_import.after("torch.distributed.launcher.api", lambda module: launchers.launch_one_rank(module, options))
    after_import.after("torch.multiprocessing.spawn", lambda module: launchers.spawn_one_rank(module, options))
    after_import.after("torch.distributed.distributed_c10d",
                       lambda module: distributed.stand_in_for_peers(module, options))
    after_import.after("torch.distributed.checkpoint.default_planner", distributed.accept_partial_plan)
    after_import.after("torch.distributed.pipelining.stage",
                       lambda module: pipelines.describe_neighbours(options, module))
    after_import.after("deepspeed.runtime.zero.utils", deepspeed_checks.agree_with_rank_0)
    after_import.after("torch.distributions.distribution", distributions.accept)
    after_import.after("deepspeed.moe.sharded_moe", deepspeed_gates.tell_when_gates_run)
    after_import.after("torch.distributed._symmetric_memory", symmetric_memory.stand_in_for_peers)
    after_import.after("torch._inductor.select_algorithm", autotuning.take_first_choice)
    after_import.after("torch._inductor.runtime.triton_heuristics", autotuning.compile_one_configuration)
    launchers.keep_one_process(options)
    after_import.after("torch.distributed", distributed.replace_store_servers)


def adopt(environment):
    """The options in `environment` hold from now on, and its device; @pre torch is loaded and has not initialised CUDA."""
    _options.adopt(environment)
    libraries.control(_options).fakecuda_read_environment()


def _on_torch(torch, options):
    recorder.Recorder(torch, options).start_with_cuda()
