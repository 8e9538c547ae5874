"""One operator a second time, on the host: its device tensors replaced by copies of what they would hold."""

_LARGEST_UNKNOWN = 16 << 20  # elements of zeros that are worth computing with
_OVERWRITING = ("fill_", "zero_", "copy_", "start_out", "out")


class Unknown(Exception):
    """The inputs are too many, or of a kind that has no copies."""


class HostRun:
    """known: False once zeros stand in for an input."""

    def __init__(self, torch, mirrors, operator):
        self._torch = torch
        self._mirrors = mirrors
        self._overwrites = any(name in _OVERWRITING for name in operator.name().split("::")[1].split("."))
        arguments = operator._schema.arguments
        self._names = [argument.name for argument in arguments]
        self._written = [argument.name for argument in arguments
                         if argument.alias_info is not None and argument.alias_info.is_write]
        self.known = True

    def arguments(self, args, kwargs):
        """The operator's arguments on the host. @raises Unknown"""
        return ([self._on_host(value, name in self._written) for name, value in zip(self._names, args)],
                {name: self._on_host(value, name in self._written) for name, value in kwargs.items()})

    def keep(self, outputs, values):
        """What was computed becomes what the outputs would hold; `outputs`: tensors of the device."""
        for output, value in zip(outputs, values):
            mirror = self._mirrors.make(output)
            if mirror is not None:
                view = self._mirrors.view(mirror, output)
                if view.data_ptr() != value.data_ptr():  # not written in place
                    view.copy_(value)
                mirror.known = self.known

    def _on_host(self, value, written):
        if isinstance(value, (list, tuple)):
            return [self._on_host(part, written) for part in value]
        if isinstance(value, self._torch.device):
            return self._torch.device("cpu")
        if not isinstance(value, self._torch.Tensor) or value.is_cpu:
            return value
        if not self._mirrors.is_device_tensor(value):
            raise Unknown
        return self._to_write(value) if written else self._to_read(value)

    def _to_read(self, tensor):
        mirror = self._mirrors.find(tensor)
        if mirror is not None:
            self.known = self.known and mirror.known
            return self._mirrors.view(mirror, tensor)
        if tensor.numel() > _LARGEST_UNKNOWN:
            raise Unknown
        self.known = False
        return self._torch.zeros((), dtype=tensor.dtype, device="cpu").expand(tensor.shape)

    def _to_write(self, tensor):
        before = self._mirrors.find(tensor)
        mirror = before or self._mirrors.make(tensor)
        if mirror is None:
            raise Unknown
        whole = tensor.numel() * tensor.element_size() >= mirror.contents.numel()
        if not (self._overwrites and whole):
            self.known = self.known and before is not None and before.known
        return self._mirrors.view(mirror, tensor)
