"""Copies on the host of what small device tensors of integers would hold on a GPU, one for each storage."""

LARGEST = 64 << 20  # bytes of a storage that has a copy: ids, masks of [batch, 1, length, length], routed tokens
_HELD = 256 << 20   # bytes after which copies of freed storages are given up


class Mirror:
    def __init__(self, owner, contents):
        self.owner = owner        # a weak reference to the device's storage
        self.contents = contents  # bytes, as a tensor of the host
        self.known = True         # False: it rests on zeros in the place of values that nobody knows


class Mirrors:
    def __init__(self, torch):
        self._torch = torch
        from torch.multiprocessing.reductions import StorageWeakRef
        self._weak = StorageWeakRef
        self._all = {}  # address of a StorageImpl, which its weak reference keeps from being used again -> Mirror
        self._held = 0
        self._plain = (torch.Tensor, torch.nn.Parameter)

    def is_device_tensor(self, value):
        """Whether it is a tensor of the device with a storage of its own: no subclass, no wrapper of functorch."""
        return (type(value) in self._plain and value.is_cuda and value.layout is self._torch.strided
                and not self._torch._C._functorch.is_functorch_wrapped_tensor(value))

    def find(self, tensor):
        """Its Mirror, or None."""
        return self._all.get(tensor.untyped_storage()._cdata) if self._all else None

    def make(self, tensor):
        """Its Mirror, made of zeros if there was none; None if it is too large."""
        storage = tensor.untyped_storage()
        mirror = self._all.get(storage._cdata)
        if mirror is None and storage.nbytes() <= LARGEST:
            self._make_room(storage.nbytes())
            torch = self._torch
            mirror = Mirror(self._weak(storage), torch.zeros(storage.nbytes(), dtype=torch.uint8, device="cpu"))
            self._all[storage._cdata] = mirror
        return mirror

    def drop(self, tensor):
        self._all.pop(tensor.untyped_storage()._cdata, None)

    def view(self, mirror, tensor):
        """The part of the copy that belongs to the tensor, with its shape; writing into it changes the copy."""
        item = tensor.element_size()
        whole = mirror.contents[:mirror.contents.numel() // item * item].view(tensor.dtype)
        return whole.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())

    def _make_room(self, size):
        self._held += size + 1024
        if self._held > _HELD:
            self._all = {key: mirror for key, mirror in self._all.items() if not mirror.owner.expired()}
            self._held = sum(mirror.contents.numel() + 1024 for mirror in self._all.values())
