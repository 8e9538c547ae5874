"""What each block of a run is for, and the module that asked for it: for `highwater --engine torch`.

Modules come from hooks: in forward passes those of the modules themselves, in backward passes those of the autograd
nodes that made a module's outputs and inputs, which run first and last of its backward. Categories come from tensors
whose role is known at some moment (parameters, gradients, optimizer states, buffers, inputs), from call stacks
(roles.py) and from workspaces/cublas.py; of the others, what a forward pass leaves behind is an activation, autocast's copies
of weights among them.

Both are written as frames in front of a block's call stack: file "module" or "category", function its name.
"""
import dataclasses
import functools

from . import places, roles
from .workspaces import cublas, cudnn_blocks

_ENGINE = "/highwater_engine/"  # whose frames are those that run the script
_WITH_MODULES = ("forward", "backward")


@dataclasses.dataclass(frozen=True)
class Note:
    moment: places.Moment
    what: object  # the path of a module, or {address: category}


class Attributes:
    def __init__(self, torch, clock):
        self._torch = torch
        self._clock = clock
        self._names = {}     # id of a module -> its path
        self._open = []      # paths of the modules that are being called, outermost first
        self._modules = []   # Notes of paths
        self._categories = []
        self._kept = frozenset()  # addresses of workspaces that live to the end

    def start(self):
        from torch.nn.modules import module as modules
        from torch.optim import optimizer as optim
        modules.register_module_forward_pre_hook(self._enter)
        modules.register_module_forward_hook(self._leave, always_call=True)
        optim.register_optimizer_step_pre_hook(lambda optimizer, *_: self._label(_gradients_of(optimizer)))
        optim.register_optimizer_step_post_hook(lambda optimizer, *_: self._label(_states_of(optimizer)))

    def look_at_workspaces(self):
        """@pre the history has been taken"""
        self._kept = cublas.kept(self._torch)

    # ---- modules

    def _enter(self, module, inputs):
        if self._torch.compiler.is_compiling():
            return
        if id(module) not in self._names:
            self._meet(module, inputs)
        outer = self._open[-1] if self._open else ""
        self._open.append(self._names.get(id(module), outer))
        self._note(self._open[-1])
        for tensor in _tensors(self._torch, inputs):
            self._note_before(tensor.grad_fn, outer)

    def _leave(self, module, inputs, outputs):
        if self._torch.compiler.is_compiling() or not self._open:
            return
        path = self._open.pop()
        self._note(self._open[-1] if self._open else "")
        for tensor in _tensors(self._torch, outputs):
            self._note_before(tensor.grad_fn, path)

    def _meet(self, module, inputs):
        """A module that nothing known contains: the whole model, or a wrapper around it."""
        prefix = self._open[-1] + "." if self._open and self._open[-1] else ""
        for name, inner in module.named_modules():
            self._names.setdefault(id(inner), prefix + name)
        self._label([("parameter", tensor) for tensor in module.parameters()] +
                    [("buffer", tensor) for tensor in module.buffers()] +
                    [("input", tensor) for tensor in _tensors(self._torch, inputs)])

    def _note_before(self, node, path):
        if node is not None:
            node.register_prehook(functools.partial(_and_nothing, self._note, path))

    def _note(self, path):
        self._modules.append(Note(self._clock.now(), path))

    # ---- categories

    def _label(self, labelled):
        found = {}
        for category, tensor in labelled:
            tensor = getattr(tensor, "_local_tensor", tensor)
            if isinstance(tensor, self._torch.Tensor) and tensor.is_cuda:
                found.setdefault(tensor.untyped_storage().data_ptr(), category)
        self._categories.append(Note(self._clock.now(), found))

    # ---- the result

    def write(self, snapshot, marks):
        """Puts the frames in front of the stacks. marks: of phases.py."""
        stacks = _Stacks()
        for device, history in enumerate(snapshot["device_traces"]):
            mine = functools.partial(filter, lambda note: note.moment.device == device)
            phases = _spread(history, [Note(mark.moment, mark.name) for mark in mine(marks)
                                       if not mark.name.startswith("step ")])
            modules = [path if phase in _WITH_MODULES else None for path, phase in
                       zip(_spread(history, list(mine(self._modules))), phases)]
            categories = _Categories(history, phases, self._kept)
            categories.take_labels(list(mine(self._categories)))
            for position, entry in enumerate(history):
                if entry["action"] == "alloc" and "frames" in entry:
                    entry["frames"] = stacks.with_names(entry["frames"], module=modules[position],
                                                        category=categories.of(position))


class _Stacks:
    """Equal stacks stay one list."""

    def __init__(self):
        self._known = {}

    def with_names(self, frames, **names):
        key = id(frames), *names.values()
        if key not in self._known:
            before = [{"filename": kind, "name": name, "line": 0} for kind, name in names.items() if name]
            own = next((place for place, frame in enumerate(frames) if _ENGINE in frame["filename"]), len(frames))
            self._known[key] = (frames, before + frames[:own])  # the old list is kept, so that its id stays its own
        return self._known[key][1]


def _spread(history, notes):
    """For each entry what the last note before it says, or None."""
    starts = {}
    for note, position in zip(notes, places.positions(history, [note.moment for note in notes])):
        if position is not None:
            starts[position] = note.what
    spread, current = [], None
    for position in range(len(history)):
        current = starts.get(position, current)
        spread.append(current)
    return spread


class _Categories:
    """Of the blocks of one device's history, by the position of their allocation."""

    def __init__(self, history, phases, kept):
        self._history = history
        self._phases = phases
        self._kept = kept
        self._found = dict.fromkeys(cublas.passing(history), "workspace")
        self._found.update((position, "workspace") for position, entry in enumerate(history) if cudnn_blocks.is_named(entry))
        self._freed = {}  # position of an alloc -> of its free
        live = {}
        for position, entry in enumerate(history):
            if entry["action"] == "alloc":
                live[entry["addr"]] = position
            elif entry["action"] == "free_requested" and entry["addr"] in live:
                self._freed[live.pop(entry["addr"])] = position

    def take_labels(self, notes):
        """Notes of {address: category}: what lived there then."""
        at = {}
        for note, position in zip(notes, places.positions(self._history, [note.moment for note in notes])):
            at.setdefault(position, []).append(note.what)
        live = {}
        for position in range(len(self._history) + 1):
            for labels in at.get(position, ()):
                for address, category in labels.items():
                    if address in live:
                        self._found.setdefault(live[address], category)
            if position < len(self._history):
                entry = self._history[position]
                if entry["action"] == "alloc":
                    live[entry["addr"]] = position
                elif entry["action"] == "free_requested":
                    live.pop(entry["addr"], None)

    def of(self, position):
        return self._found.get(position) or roles.of_stack(self._history[position].get("frames", ())) or \
            self._guess(position)

    def _guess(self, position):
        """What a block is for whose tensor nobody named."""
        freed = self._freed.get(position)
        phase = self._phases[position]
        if freed is None and self._history[position]["addr"] in self._kept:
            return "workspace"
        if phase == "init":
            return None
        if phase == "data":
            return "input"
        if phase == "forward" and (freed is None or self._phases[freed] != "forward"):
            return "activation"
        return "temporary"


def _gradients_of(optimizer):
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            yield "parameter", parameter
            if parameter.grad is not None:
                yield "gradient", parameter.grad


def _states_of(optimizer):
    for state in optimizer.state.values():
        for value in state.values() if isinstance(state, dict) else ():
            yield "optimizer_state", value


def _tensors(torch, value, depth=2):
    """The tensors in a value: one, or in tuples, lists, dictionaries and outputs of models."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth and isinstance(value, dict):
        for part in value.values():
            yield from _tensors(torch, part, depth - 1)
    elif depth and isinstance(value, (tuple, list)):
        for part in value:
            yield from _tensors(torch, part, depth - 1)


def _and_nothing(function, argument, *_):
    """A hook that returns something would replace gradients."""
    function(argument)
