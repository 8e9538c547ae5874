"""Follows a run by what phases.py notices and by hooks of its own, and tells its plan at the end."""
import contextlib
import functools
import os
import sys
import weakref
from collections import Counter, OrderedDict

from .. import after_import
from . import batches, evaluations, loops, models, optimizers, recomputation, strategies


class Observer:
    """An observer never ends a script: what it cannot look at becomes a name under "unknown"."""

    def __init__(self, torch, host_value):
        """host_value: (tensor of the device) -> a copy of what it holds, on the host, or None."""
        self._torch = torch
        self._host_value = host_value
        self._facts = {}
        self._unknown = []
        self._handles = []
        self._built = Counter()      # elements of parameters by the device that they were made on
        self._met = set()            # (id of a module, name) of these parameters
        self._in_zero_init = False   # whether some of them were made within deepspeed.zero.Init()
        self._moved = []             # what converted or moved the model after it was made
        self._moved_from = None      # the device that it was on before it was first moved to the GPU
        self._shapes = []            # of each forward pass with gradients: [sequences, tokens], or None
        self._objects = []           # of each of them: how many each image has, for a detector
        self._targets = []           # of each of them: tokens in the labels, or None
        self._passes = 0             # forward passes with gradients
        self._evaluations = evaluations.Evaluations(torch)  # of passes without
        self._copied = []            # weak references to parameters that copy.deepcopy() made
        self._since = 0              # the same since the last step
        self._since_backward = 0     # the same since the last backward pass
        self._passes_of_backward = []  # how many led to each backward pass: two, where a loss compares pairs
        self._outside = None         # passes of a step before the optimizer's own step began, which may call the model itself
        self._inside = False         # whether a module around the model is given no tensors of its batch, so that those of the model count
        self._micro_batches = []     # of each step
        self._syncs = []             # whether each forward pass is followed by a reduction
        self._outputs = None         # a weak reference to the last outputs
        self._keeps = None           # whether outputs live until the next forward pass
        self._keeps_in_step = None   # and until the optimizer steps
        self._autocast = None
        self._is_loss = False        # whether the module that runs has no parameters
        self._in_backward = False
        self._again = 0              # depth of modules called in a backward pass
        self._recomputed = {}        # id of a module -> module
        self._recomputation = None
        self._optimizers = {}
        self._clip = None
        self._zeroed = {}            # lines that zero gradients, by when: before the first step, forward, end
        self._where = "before"
        self._sets_to_none = None
        self._emptied = 0

    def start(self):
        torch = self._torch
        from torch.nn.modules import module as modules
        self._handles = [modules.register_module_parameter_registration_hook(self._registered),
                         modules.register_module_forward_pre_hook(self._enter),
                         modules.register_module_forward_hook(self._leave, always_call=True)]
        _before(torch.nn.Module, "to", self._converts)
        _before(torch.nn.Module, "to_empty", lambda module, *_, **__: self._moved.append("to_empty"))
        for name in ("half", "bfloat16"):
            _before(torch.nn.Module, name, functools.partial(self._narrows, name))
        for owner in (torch.optim.Optimizer, torch.nn.Module):
            _before(owner, "zero_grad", self._zeroes)
        for owner in (torch.nn.utils, torch.nn.utils.clip_grad):
            _before(owner, "clip_grad_norm_", lambda _, max_norm, *__, **___: self._clips(max_norm))
        # FSDP1's own method, which accelerate and Trainer call as well.
        after_import.after("torch.distributed.fsdp.fully_sharded_data_parallel", lambda fsdp: _before(
            fsdp.FullyShardedDataParallel, "clip_grad_norm_", lambda _, max_norm, *__, **___: self._clips(max_norm)))
        _after(torch.nn.Parameter, "__deepcopy__", lambda copy: self._copied.append(weakref.ref(copy)))
        _before(torch.cuda, "empty_cache", lambda: self._empties())
        _before(torch.cuda.memory, "empty_cache", lambda: self._empties())

    # ---- what phases.py notices

    def forward_begins(self, module):
        self._is_loss = next(iter(module.parameters()), None) is None
        if self._is_loss:  # CrossEntropyLoss() and the like, which are modules, too
            return
        self._where = "forward"
        if not self._torch.is_grad_enabled():
            with self._careful("evaluation"):
                self._look_at_evaluation(module)
            return
        if "model" not in self._facts:
            self._look_at_model(module)
            with self._careful("saved tensors"):
                self._facts["saved_tensors"] = self._where_tensors_are_saved()
        with self._careful("batch"):
            self._look_at_batch(module)
        if self._keeps is None and self._outputs is not None:
            self._keeps = self._outputs() is not None

    def forward_ended(self, outputs):
        if self._torch.is_grad_enabled() and self._keeps is None and not self._is_loss:
            with self._careful("outputs"):
                self._look_at_outputs(outputs)

    def backward_begins(self):
        self._in_backward, self._where, self._again = True, "backward", 0
        if self._since_backward and len(self._passes_of_backward) < batches.MOST:
            self._passes_of_backward.append(self._since_backward)
        self._since_backward = 0

    def backward_ended(self):
        self._in_backward = False

    def optimizer_begins(self, optimizer):
        if self._keeps_in_step is None and self._outputs is not None:
            self._keeps_in_step = self._outputs() is not None
        if id(optimizer) not in self._optimizers:
            with self._careful("optimizer"):
                self._optimizers[id(optimizer)] = optimizers.described(optimizer)
        if "loop" not in self._facts:
            self._facts["loop"] = loops.running()
            self._facts["label_smoothing"] = loops.label_smoothing()
            with self._careful("TRL"):
                self._facts["trl"] = loops.settings(self._host_value)
            with self._careful("copies"):
                copied = self._elements_of_copies()
                self._facts.setdefault("model", {}).update(copied=copied, copies=sum(copied.values()))
        if self._since:  # of several optimizers the first counts
            self._micro_batches.append(self._since)
        self._outside, self._since = self._since, 0

    def optimizer_ended(self):
        self._where = "end"
        if self._since:  # the step has called the whole micro-batch, LBFGS' several times
            self._micro_batches[len(self._micro_batches) - bool(self._outside):] = [self._outside + 1]
        self._outside = self._since = 0
        for handle in self._handles:
            handle.remove()
        self._handles = []

    # ---- own hooks, until the first step has ended

    def _registered(self, module, name, parameter):
        if parameter is not None and "model" not in self._facts and (id(module), name) not in self._met:
            self._met.add((id(module), name))
            self._built[parameter.device.type] += parameter.numel()
            self._in_zero_init = self._in_zero_init or strategies.partitions_as_made()

    def _enter(self, module, _):
        if self._torch.compiler.is_compiling():
            return
        if self._in_backward:
            self._again += 1
            if self._again == 1:
                self._look_at_recomputation(module)
        elif self._autocast is None and self._torch.is_autocast_enabled():
            self._autocast = models.type_name(self._torch.get_autocast_dtype("cuda"))

    def _leave(self, *_):
        if self._in_backward and self._again:
            self._again -= 1

    def _converts(self, module, *args, **kwargs):
        for value in (*args, *kwargs.values()):
            kind = getattr(value, "type", value)
            if kind == "meta" or (isinstance(kind, str) and kind.startswith("cuda")):
                self._moved.append(kind.partition(":")[0])
                first = next(module.parameters(), None)
                self._moved_from = self._moved_from or (kind != "meta" and first is not None and first.device.type) or None
            elif isinstance(value, self._torch.dtype):
                self._narrows(models.type_name(value), module)

    def _narrows(self, name, module):
        first = next(module.parameters(), None)
        if first is not None and first.is_cuda and name in ("half", "bfloat16", "float16"):
            self._moved.append(f"narrowed on the device: {name}")

    def _zeroes(self, _, set_to_none=True):
        self._zeroed.setdefault(self._where, set()).add(_line_of_script())
        self._sets_to_none = bool(set_to_none)

    def _clips(self, norm):
        self._clip = float(norm)

    def _empties(self):
        """accelerate empties it while it prepares, Trainer while it evaluates with eval_accumulation_steps."""
        self._emptied += self._where != "before" and not evaluations.are_running()

    # ---- what is looked at

    def _look_at_batch(self, module):
        args, kwargs = batches.arguments_of_call()
        batch = batches.Batch(self._torch, args, kwargs)
        if not self._inside and not batch.has_examples():
            self._look_inside(module)
        if not self._inside:
            self._note_pass(module, batch)

    def _look_inside(self, module):
        """A loss around the model is given texts in lists, sentence-transformers' for one; the model itself is given tensors."""
        inner = models.innermost(module)
        if inner is module or not hasattr(inner, "config") or "compiled" in self._facts["model"]:
            return
        self._inside = True
        _before(inner, "forward", functools.partial(self._enters_inside, inner))  # which sentence-transformers calls past all hooks

    def _enters_inside(self, module, *args, **kwargs):
        if self._torch.is_grad_enabled() and not self._in_backward:
            with self._careful("batch"):
                self._note_pass(module, batches.Batch(self._torch, args, kwargs))

    def _note_pass(self, module, batch):
        self._passes += 1
        self._since += 1
        self._since_backward += 1
        if len(self._shapes) < batches.MOST:
            self._shapes.append(batch.tokens())
            self._targets.append(batch.target())
            self._objects.append(batch.objects())
            self._syncs.append(strategies.syncs(module))
        if "batch" not in self._facts:
            self._facts["batch"] = {"tensors": batch.shapes(), "attention_mask": batch.mask(self._host_value),
                                    "labels": batch.has_labels(), "images": batch.images(),
                                    "places": batch.places(getattr(models.innermost(module), "config", None), self._host_value),
                                    "grid": batch.grid(self._host_value)}

    def _look_at_evaluation(self, module):
        args, kwargs = batches.arguments_of_call()
        trained = self._module() if "model" in self._facts else None
        is_models = not getattr(module, "training", True) and trained is not None and models.innermost(module) is models.innermost(trained)
        self._evaluations.note(batches.Batch(self._torch, args, kwargs), len(self._micro_batches), is_models)

    def _look_at_model(self, module):
        self._facts["model"] = {}
        with self._careful("model"):
            self._facts["model"] = models.described(self._torch, module)
        with self._careful("builder"):
            self._facts["model"].update(builder=models.builder(models.innermost(module)))
        with self._careful("adapters"):
            self._facts["adapters"] = models.adapters(module)
        with self._careful("strategy"):
            self._facts["strategy"] = strategies.described(self._torch, module)
        self._module = weakref.ref(module)

    def _elements_of_copies(self):
        """By type, of parameters on the device that were copied and are none of the model's: an EMA, a target, a reference."""
        model = self._module() if self._copied else None
        own = {id(parameter) for parameter in model.parameters()} if model is not None else set()
        alive = [parameter for parameter in (copy() for copy in self._copied) if parameter is not None]
        return models.elements(parameter for parameter in alive if parameter.is_cuda and id(parameter) not in own)

    def _where_tensors_are_saved(self):
        """"host" under torch.autograd.graph.save_on_cpu(), the name of other hooks, None without any."""
        hooks = self._torch._C._autograd._top_saved_tensors_default_hooks(True)
        name = getattr(hooks[0], "__qualname__", str(hooks[0])) if hooks else None
        return "host" if name and name.startswith("save_on_cpu.") else name

    def _look_at_outputs(self, outputs):
        if "batch" not in self._facts:  # of a loss around a model that was called in another way
            return
        logits = getattr(outputs, "logits", None)
        # "cache" since transformers 5.24, which warns of the older name.
        name = "cache" if hasattr(outputs, "cache") else "past_key_values"
        self._facts["batch"]["returns_cache"] = getattr(outputs, name, None) is not None
        if logits is None and type(outputs) in (dict, OrderedDict):  # of torchvision's segmenters
            logits = next(iter(outputs.values()), None)
        logits = outputs if logits is None else logits
        self._outputs = weakref.ref(logits) if isinstance(logits, self._torch.Tensor) else None

    def _look_at_recomputation(self, module):
        self._recomputed[id(module)] = module
        if self._recomputation is None:
            with self._careful("checkpointing"):
                self._recomputation = recomputation.described()

    # ---- the result

    def plan(self, described):
        """JSON values. described: what the command line says about device and ranks."""
        facts = {"schema": "highwater.observed_plan/1", "loop": self._facts.get("loop", "plain"), **self._facts}
        facts["releases"] = loops.releases(self._torch)
        facts["device"] = {**described, "alloc_conf": os.environ.get("PYTORCH_ALLOC_CONF") or
                           os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "")}
        facts["steps"] = {"count": len(self._micro_batches), "micro_batches": self._micro_batches,
                          "forward_passes": self._passes, "without_gradients": self._evaluations.others,
                          "passes_of_backward": self._passes_of_backward,
                          "empties_cache": self._emptied}
        facts["evaluation"] = self._evaluations.described()
        facts.setdefault("batch", {}).update(shapes=self._shapes, targets=self._targets, objects=self._objects if any(self._objects) else [], keeps_outputs=self._keeps, keeps_outputs_in_step=self._keeps_in_step)
        facts.setdefault("model", {}).update(built_on=max(self._built, key=self._built.get, default=None), moved=self._moved, moved_from=self._moved_from,
                                             **({"zero_init": True} if self._in_zero_init else {}))
        facts.setdefault("strategy", {})["syncs"] = self._syncs
        facts["precision"] = {"autocast": self._autocast}
        facts["optimizers"] = list(self._optimizers.values())[:8]
        facts["gradients"] = {"clip": self._clip, "zeroed_at": self._zeroed_at(), "set_to_none": self._sets_to_none}
        with self._careful("checkpointing"):
            facts["checkpointing"] = self._checkpointing()
        if not self._passes:
            self._unknown.append("a forward pass with gradients")
        if not self._micro_batches:
            self._unknown.append("an optimizer step")
        facts["unknown"] = self._unknown
        return facts

    def _zeroed_at(self):
        """Trainer zeroes once before the first step by a line of its own; a loop that begins with it, by the same line."""
        if "forward" in self._zeroed:
            return "backward"
        if self._zeroed.get("before", set()) & self._zeroed.get("end", set()):
            return "start"
        return "end" if "end" in self._zeroed else None

    def _checkpointing(self):
        if not self._recomputed:
            return None
        kinds = Counter(type(module).__name__ for module in self._recomputed.values())
        model = self._module()
        return {**(self._recomputation or {}), "classes": dict(kinds),
                "blocks": recomputation.blocks(self._torch, model, self._recomputed) if model is not None else []}

    @contextlib.contextmanager
    def _careful(self, what):
        try:
            yield
        except Exception as error:  # a class of another release
            self._unknown.append(f"{what} ({type(error).__name__}: {error})")


def _line_of_script():
    """The line that called a function that this package surrounds."""
    frame, ours = sys._getframe(1), os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    while frame is not None and frame.f_code.co_filename.startswith(ours):
        frame = frame.f_back
    return (frame.f_code, frame.f_lineno) if frame is not None else None


def _after(owner, name, note):
    """Calls note with what each call of owner.name returns."""
    function = getattr(owner, name)

    @functools.wraps(function)
    def noted(*args, **kwargs):
        result = function(*args, **kwargs)
        with contextlib.suppress(TypeError):
            note(result)
        return result

    setattr(owner, name, noted)


def _before(owner, name, note):
    """Calls note with the arguments before each call of owner.name; what is wrong with them is the function's to say."""
    function = getattr(owner, name)

    @functools.wraps(function)
    def noted(*args, **kwargs):
        with contextlib.suppress(TypeError, StopIteration):
            note(*args, **kwargs)
        return function(*args, **kwargs)

    setattr(owner, name, noted)
