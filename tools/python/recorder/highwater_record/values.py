"""Integers and truth values of the device, computed as on a GPU.

Kernels do nothing on the fake device, and what they would have computed reads as zeros. Programs ask for few values,
and most of them follow from what the host knows: are the positions packed, is the mask full, is every sequence
finished, how many tokens does an expert get. So each operator on integers runs a second time, on the host, on copies
of what its inputs would hold (mirrors.py), and a value that the program reads is read there.

Floating-point values stay zeros, but for a few that the host has sent (boxes of a detector) and what follows from these;
integers made of the others follow from zeros; a router's equal scores choose experts
in turns (experts/). What nobody knows is read as zeros, or as --answers says (answers.py).
"""
from . import dynamo, integers
from .experts import deepspeed_gates
from .dispatch_key import DispatchKey
from .host_run import HostRun, Unknown
from .mirrors import Mirrors

_LARGEST_FLOATS = 1 << 20  # bytes of floating-point numbers made of integers, e.g. for a histogram
_LARGEST_SENT = 4 << 10    # bytes of floating-point numbers that a script gives to the device and may decide by
_SMALL = 64                # elements of a copy to the host that counts as a value read

# A copy that goes to the host's kernels at once, past modes, transforms, autograd and autocast.
_PASSED = ("Python", "PythonTLSSnapshot", "FuncTorchDynamicLayerFrontMode", "FuncTorchDynamicLayerBackMode",
           "Functionalize", "AutogradCPU", "ADInplaceOrView", "AutocastCPU", "AutocastCUDA")


class Values:
    def __init__(self, torch, control, answers, router, reads):
        """answers: answers.Answers; router: routing.Router; reads: stuck.Reads."""
        self._torch = torch
        self._control = control
        self._answers = answers
        self._router = router
        self._reads = reads
        self._mirrors = Mirrors(torch)
        self._topk = torch.ops.aten.topk.default
        self._argmax = torch.ops.aten.argmax.default
        self._copy = torch.ops.aten.copy_.default
        self._passed = None
        self._keys = ()

    def start(self):
        """From now on, in this thread."""
        aten, C = self._torch.ops.aten, self._torch._C
        computed = DispatchKey(self._torch, "TESTING_ONLY_GenericMode")
        read = DispatchKey(self._torch, "TESTING_ONLY_GenericWrapper")
        self._passed = C.DispatchKeySet(computed.key).add(read.key)
        for name in _PASSED:
            self._passed = self._passed.add(getattr(C.DispatchKey, name))
        computed.observe(integers.operators(self._torch), self._compute)
        computed.observe([aten.equal.default], self._equal)
        computed.observe(integers.gathers(self._torch), self._gather, "c10d")
        read.observe([aten._local_scalar_dense.default], self._item)
        read.observe([aten.nonzero.default], self._nonzero)
        dynamo.leave_alone()
        self._keys = (computed, read)  # kernels live as long as they do
        computed.include()
        computed.leave_gradients_alone()
        read.include()

    def _on_host(self):
        return self._torch._C._ExcludeDispatchKeyGuard(self._passed)

    def held(self, tensor):
        """A copy on the host of what the tensor would hold, if that is known; or None."""
        mirror = self._mirrors.find(tensor) if self._mirrors.is_device_tensor(tensor) else None
        if mirror is None or not mirror.known:
            return None
        with self._on_host():
            return self._mirrors.view(mirror, tensor).clone()

    def learn(self, tensor, make):
        """What a kernel has written that is no operator of PyTorch's: make() gives it, on the host."""
        if not self._mirrors.is_device_tensor(tensor):
            return
        with self._on_host():
            mirror = self._mirrors.make(tensor)
            if mirror is not None:
                self._mirrors.view(mirror, tensor).copy_(make())
                mirror.known = True

    # ---- what the program reads

    def _item(self, run, operator, args, kwargs):
        tensor = args[0]
        if not self._mirrors.is_device_tensor(tensor):
            return run()
        mirror = self._mirrors.find(tensor)
        given = None if mirror is not None and mirror.known else self._answers.item(tensor.dtype)
        if given is not None:
            return self._answered(run, given)
        if mirror is None or not mirror.known:
            self._reads.count()
        if mirror is None:
            return run()
        with self._on_host():
            view = self._mirrors.view(mirror, tensor)
            if tensor.dtype == self._torch.uint64:  # a kernel in Python returns nothing above the largest int64
                view = view.view(self._torch.int64) & (2**63 - 1)
            value, data = operator(view), self._bytes(view)
        self._answered(run, data) if mirror.known else run()
        return value

    def _equal(self, run, operator, args, kwargs):
        result = run()
        if not self._any_mirrored(args):
            return result
        try:
            with self._on_host():
                return operator(*HostRun(self._torch, self._mirrors, operator).arguments(args, kwargs)[0])
        except Unknown:
            return result

    def _nonzero(self, run, operator, args, kwargs):
        """The number of elements that its kernel finds decides the size of the result."""
        mask = args[0]
        if not self._mirrors.is_device_tensor(mask):
            return run()
        mirror = self._mirrors.find(mask)
        given = None if mirror is not None and mirror.known else self._answers.nonzero(mask.numel())
        if given is not None:
            return self._answered(run, given)
        if mirror is None:
            return run()
        host = HostRun(self._torch, self._mirrors, operator)
        with self._on_host():
            found = operator(*host.arguments(args, kwargs)[0])
        result = self._answered(run, found.size(0).to_bytes(4, "little"))
        with self._on_host():
            host.keep([result], [found])
        return result

    def _copy_to_host(self, run, target, source):
        mirror = self._mirrors.find(source) if self._mirrors.is_device_tensor(source) else None
        if mirror is None:
            return run()
        with self._on_host():
            value = self._mirrors.view(mirror, source).to(target.dtype).expand(target.shape).contiguous()
            data = self._bytes(value) if mirror.known and target.numel() <= _SMALL else b""
        result = self._answered(run, data)
        with self._on_host():
            target.copy_(value)
        return result

    def _answered(self, run, data):
        """run(), where the next value of this size that is read from the device has these bytes."""
        self._control.fakecuda_answer(data, len(data))
        try:
            return run()
        finally:
            self._control.fakecuda_forget_answers()

    def _bytes(self, value):
        """A tensor of one element may have any stride, which no view as bytes takes."""
        flat = value.reshape(-1).clone(memory_format=self._torch.contiguous_format)
        return bytes(flat.view(self._torch.uint8).tolist())

    # ---- what kernels compute

    def _compute(self, run, operator, args, kwargs):
        if operator is self._copy and args[0].is_cpu:
            return self._copy_to_host(run, args[0], args[1])
        result = run()
        outputs = result if isinstance(result, (tuple, list)) else (result,)
        wanted = [self._matters(output, args) or self._is_sent(operator, output, args) for output in outputs]
        if any(wanted):
            self._repeat_on_host(operator, args, kwargs, outputs, wanted)
        return result

    def _gather(self, run, operator, args, kwargs):
        """Every other rank has sent what this one sends."""
        result = run()
        received, sent = args[0], args[1]
        pairs = [(received, sent)] if isinstance(sent, self._torch.Tensor) else [
            (output, one) for outputs, one in zip(received, sent) for output in outputs]
        for output, one in pairs:
            if self._mirrors.is_device_tensor(output) and not one.is_floating_point():
                self._receive(HostRun(self._torch, self._mirrors, operator), output, one)
        return result

    def _receive(self, host, output, sent):
        mirror = self._mirrors.find(sent) if self._mirrors.is_device_tensor(sent) else None
        copies, rest = divmod(output.numel(), max(sent.numel(), 1))
        if mirror is None or rest != 0:
            self._mirrors.drop(output)
            return
        host.known = mirror.known
        with self._on_host():
            host.keep([output], [self._mirrors.view(mirror, sent).reshape(-1).repeat(copies).view(output.shape)])

    def _matters(self, output, inputs):
        if not self._mirrors.is_device_tensor(output):
            return False
        if not output.is_floating_point() and not output.is_complex():
            return True
        return self._any_mirrored(inputs) and output.untyped_storage().nbytes() <= _LARGEST_FLOATS

    def _is_sent(self, operator, output, inputs):
        """Whether few floats come from the host: boxes, thresholds, schedules. Parameters do, too, and change on the device."""
        return (operator is self._copy and inputs[1].is_cpu and self._mirrors.is_device_tensor(output)
                and not isinstance(inputs[1], self._torch.nn.Parameter)
                and output.untyped_storage().nbytes() <= _LARGEST_SENT)

    def _any_mirrored(self, inputs):
        return any(self._any_mirrored(value) if isinstance(value, (list, tuple)) else
                   self._mirrors.is_device_tensor(value) and self._mirrors.find(value) is not None
                   for value in inputs)

    def _repeat_on_host(self, operator, args, kwargs, outputs, wanted):
        host = HostRun(self._torch, self._mirrors, operator)
        try:
            with self._on_host():
                values = self._outputs(operator, host, args, kwargs)
                host.keep(*zip(*((output, value) for output, value, want in zip(outputs, values, wanted) if want)))
        except Exception:  # no fault of the copies may end the script: these values are unknown
            for output in filter(self._mirrors.is_device_tensor, outputs):
                self._mirrors.drop(output)

    def _outputs(self, operator, host, args, kwargs):
        on_host, named = host.arguments(args, kwargs)
        if operator is self._topk and not host.known and self._is_last(on_host[0], *args[2:3]):
            choices = self._router.choices(on_host[0].shape, on_host[1])
            return on_host[0].gather(-1, choices), choices
        gate = deepspeed_gates.running
        if operator is self._argmax and not host.known and gate.wanted and self._is_last(on_host[0], *args[1:2]):
            host.known = True  # --moe-load tells them, whatever --answers says of other values
            return (self._router.choices(on_host[0].shape, gate.wanted)[..., gate.next_choice()],)
        try:
            values = operator(*on_host, **named)
        except RuntimeError:  # the host's kernel takes floats only, as that of histc
            values = operator(*map(self._as_float, on_host), **named)
        return values if isinstance(values, (tuple, list)) else (values,)

    def _is_last(self, tensor, dim=-1):
        return dim in (-1, tensor.dim() - 1)

    def _as_float(self, value):
        return value.double() if isinstance(value, self._torch.Tensor) else value
