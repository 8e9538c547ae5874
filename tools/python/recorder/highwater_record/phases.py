"""Steps and phases of a training script, from hooks that PyTorch offers to every program.

A phase begins where the outermost module is called (forward), where autograd starts (backward), and where gradients
are clipped, the optimizer steps and gradients are zeroed. What comes between a step's end, or a micro-batch's
backward, and the next forward pass is its data. The first step begins where the model was last moved to the device or
given an optimizer, or where a loader was asked for batches after that.
"""
import dataclasses
import functools
import sys
import threading
import warnings

from . import after_import, fused_backward, places

BEFORE_STEPS = "init"


@dataclasses.dataclass(frozen=True)
class Mark:
    moment: places.Moment
    name: str  # "step 3", or the phase that begins


class Phases:
    def __init__(self, torch, clock, observer):
        """observer: observed.Observer, which is told what begins and ends."""
        self._torch = torch
        self._clock = clock
        self._observer = observer
        self._thread = threading.get_ident()
        self._depth = 0              # of calls of modules
        self._in_backward = 0  # calls within each other: reentrant checkpointing runs its own
        self._in_optimizer = False
        self._step = None            # its number, once there is one
        self._has_ended = True       # the optimizer has stepped, and no forward pass has begun since
        self._first_zeroing = None   # the line that zeroed gradients before the first step, and begins the others
        self._quiet = None           # the last moment at which the data of a forward pass may begin
        self.marks = [Mark(clock.now(), BEFORE_STEPS)]

    def start(self):
        from torch.nn.modules import module as modules
        from torch.optim import optimizer as optim
        torch = self._torch
        # Compiled code is the same, since the hooks do nothing while it is traced; PyTorch warns all the same.
        warnings.filterwarnings("ignore", message="Using `torch.compile\\(module\\)` when there are global hooks")
        modules.register_module_forward_pre_hook(self._enter)
        modules.register_module_forward_hook(self._leave, always_call=True)
        optim.register_optimizer_step_pre_hook(lambda optimizer, *_: self._optimizer_steps(optimizer))
        optim.register_optimizer_step_post_hook(lambda *_: self._end_optimizer())
        for owner in (optim.Optimizer, torch.nn.Module):
            surround(owner, "zero_grad", self._begin_zero_grad, self._settle)
        surround(optim.Optimizer, "__init__", nothing, self._settle)
        surround(torch.nn.Module, "to", nothing, self._settle)
        surround(torch.autograd, "backward", self._begin_backward, self._end_backward)
        surround(torch.utils.data.DataLoader, "__iter__", self._settle_before_steps, nothing)
        after_import.after("accelerate.accelerator", lambda module: surround(
            module.Accelerator, "backward", self._begin_backward, self._end_backward))
        after_import.after("deepspeed.runtime.engine", self._watch_deepspeed)
        fused_backward.watch(lambda _: self._begin_backward(), self._end_fused_backward)
        for owner in (torch.nn.utils, torch.nn.utils.clip_grad):
            surround(owner, "clip_grad_norm_", lambda: self._begin("clip"), nothing)
        after_import.after("torch.distributed.fsdp.fully_sharded_data_parallel", lambda fsdp: surround(
            fsdp.FullyShardedDataParallel, "clip_grad_norm_", lambda: self._begin("clip"), nothing))

    # ---- what the hooks mean

    def _enter(self, module, *_):
        if self._torch.compiler.is_compiling():
            return
        if threading.get_ident() == self._thread:
            self._depth += 1
            if self._depth == 1 and not self._in_backward:
                self._begin_forward()
                self._observer.forward_begins(module)

    def _leave(self, _, __, outputs):
        if not self._torch.compiler.is_compiling() and threading.get_ident() == self._thread:
            self._depth -= 1
            if self._depth == 0 and not self._in_backward:
                self._observer.forward_ended(outputs)

    def _begin_forward(self):
        self._begin_step()
        if self._quiet is not None:
            self.marks.append(Mark(self._quiet, "data"))
            self._quiet = None
        self._begin("forward")

    def _begin_backward(self):
        """A library's own begins before PyTorch's: it divides and scales the loss."""
        if not self._in_backward:
            self._observer.backward_begins()
            self._begin("backward")
        self._in_backward += 1

    def _end_backward(self):
        self._in_backward -= 1
        if self._in_backward:
            return
        self._observer.backward_ended()
        if self._in_optimizer:  # which called the whole step, as Lightning's does
            self._begin("optimizer")
        self._settle()

    def _end_fused_backward(self, optimizer):
        """Parameters were updated while the backward ran; no step follows."""
        self._end_backward()
        self._optimizer_steps(optimizer)
        self._end_optimizer()

    def _optimizer_steps(self, optimizer):
        self._observer.optimizer_begins(optimizer)
        self._begin_optimizer()

    def _begin_optimizer(self):
        if not self._has_ended and not self._in_optimizer:
            self._begin("optimizer")
        self._in_optimizer = True

    def _end_optimizer(self):
        self._in_optimizer = False
        self._has_ended = True
        self._observer.optimizer_ended()
        self._settle()

    def _begin_zero_grad(self):
        if self._depth > 0:
            return
        caller = sys._getframe(2)  # behind the function that surrounds zero_grad
        line = caller.f_code, caller.f_lineno
        if self._step is None:  # there are no gradients yet; Trainer's line does not come again, a loop's does
            self._first_zeroing = line
            return
        if line == self._first_zeroing:
            self._begin_step()
        self._begin("zero_grad")

    def _begin_step(self):
        if self._has_ended:
            self._has_ended = False
            self._step = 0 if self._step is None else self._step + 1
            self.marks.append(Mark(self._quiet or self._clock.now(), f"step {self._step}"))

    def _settle(self):
        """What comes before a forward pass from here on is its data, as far as is known."""
        if self._depth == 0:
            self._quiet = self._clock.now()

    def _settle_before_steps(self):
        """Wrappers may move and shard the model after the optimizer was made."""
        if self._step is None:
            self._settle()

    def _watch_deepspeed(self, module):
        """Its engine reduces and clips before the optimizer inside steps, and gathers parameters after that."""
        surround(module.DeepSpeedEngine, "backward", self._begin_backward, self._end_backward)
        step = module.DeepSpeedEngine.step

        @functools.wraps(step)
        def watched(engine, *args, **kwargs):
            if not engine.is_gradient_accumulation_boundary():
                return step(engine, *args, **kwargs)
            self._begin_optimizer()
            try:
                return step(engine, *args, **kwargs)
            finally:
                self._end_optimizer()

        module.DeepSpeedEngine.step = watched

    def _begin(self, phase):
        self.marks.append(Mark(self._clock.now(), phase))


def nothing():
    pass


def surround(owner, name, before, after):
    function = getattr(owner, name)

    @functools.wraps(function)
    def surrounded(*args, **kwargs):
        before()
        try:
            return function(*args, **kwargs)
        finally:
            after()

    setattr(owner, name, surrounded)


def annotate(snapshot, marks):
    """Adds the marks as PyTorch writes annotations; `trace_index` is the entry of the history before which one lies."""
    annotations = snapshot.setdefault("external_annotations", [])
    for device, history in enumerate(snapshot["device_traces"]):
        of_device = [mark for mark in marks if mark.moment.device == device]
        for mark, position in zip(of_device, places.positions(history, [mark.moment for mark in of_device])):
            if position is not None:
                annotations.append({"name": mark.name, "stage": "START", "device": device, "trace_index": position,
                                    "time_us": _time(history, position)})


def _time(history, position):
    return history[min(position, len(history) - 1)].get("time_us", -1) if history else -1
