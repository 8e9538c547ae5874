"""The store at which the ranks of a job meet, for a job with only one of them."""

# Keys by which a rank tells the others that it failed (ProcessGroupNCCL.hpp: kStoreDumpKey, kStoreErrorSignalKey).
# Its watchdog would end this rank, too.
_FAILURES = ("exception_dump", "remote_error")


def make_class():
    """The class, created once torch is available."""
    from torch._C._distributed_c10d import Store

    class AbsentPeersStore(Store):
        """Keeps what this rank sets; values that only another rank would set are zeros, and nothing waits."""

        def __init__(self):
            super().__init__()
            self._values = {}

        def set(self, key, value):
            self._values[key] = value if isinstance(value, bytes) else str(value).encode()

        def get(self, key):
            return self._values.get(key, bytes(128))  # as long as an NCCL identifier

        def add(self, key, amount):
            total = int(self._values.get(key, b"0")) + amount
            self._values[key] = str(total).encode()
            return total

        def compare_set(self, key, expected, desired):
            current = self._values.get(key, b"")
            if current == (expected if isinstance(expected, bytes) else expected.encode()):
                self.set(key, desired)
            return self._values.get(key, b"")

        def check(self, keys):
            return all(key in self._values or key.rsplit("/", 1)[-1] not in _FAILURES for key in keys)

        def wait(self, keys, timeout=None):
            return None

        def delete_key(self, key):
            return self._values.pop(key, None) is not None

        def num_keys(self):
            return len(self._values)

        def set_timeout(self, timeout):
            return None

    return AbsentPeersStore
