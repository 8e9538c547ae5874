"""Phase boundaries of a run with the allocator's figures, and labels of the blocks."""

import time

STAT_KEYS = [f"{group}.all.{field}" for group in ("allocated_bytes", "active_bytes", "reserved_bytes",
             "requested_bytes", "inactive_split_bytes") for field in ("current", "peak")]
STAT_KEYS += ["allocation.all.current", "segment.all.current", "segment.large_pool.current",
              "segment.small_pool.current", "reserved_bytes.small_pool.current", "reserved_bytes.large_pool.current",
              "num_alloc_retries", "num_ooms", "num_device_alloc", "num_device_free", "num_sync_all_streams"]
COUNTERS = {"alloc": "allocation.all.allocated", "free_requested": "allocation.all.freed",
            "free_completed": "active.all.freed"}
MAX_ENTRIES = 2_000_000  # of the history: the longest case of the matrix has 60,000


class Recorder:
    """Markers at phase boundaries, labels of blocks, the history. Without a device: only the markers' names.

    A marker carries the allocator's cumulative counters, by which history.py finds its place in the history, and
    `device_used`: what the driver counts as used on the whole device (total - free of cudaMemGetInfo). The
    difference to the reserved bytes is the memory outside the allocator, of other processes included.
    """

    def __init__(self, torch, live, stacks, reads_driver=True):
        self.torch = torch
        self.live = live
        self.reads_driver = reads_driver
        self.markers = []
        self.labels = []  # (marker index, {storage address: label})
        if live:
            options = {"context": None} if stacks == "none" else {"context": "alloc", "stacks": stacks}
            torch.cuda.memory._record_memory_history(enabled="all", max_entries=MAX_ENTRIES, **options)
            stats = torch.cuda.memory_stats()
            self.base = {action: stats.get(key, 0) for action, key in COUNTERS.items()}

    def mark(self, phase, step=None, micro=None, **more):
        marker = {"phase": phase, "step": step, "micro": micro, "time_us": time.time_ns() // 1000, **more}
        if self.live:
            stats = self.torch.cuda.memory_stats()
            marker["stats"] = {key: stats[key] for key in STAT_KEYS if key in stats}
            marker["counts"] = {action: stats.get(key, 0) - self.base[action] for action, key in COUNTERS.items()}
            if self.reads_driver:
                free, total = self.torch.cuda.mem_get_info()
                marker["device_used"] = total - free
        self.markers.append(marker)

    def label(self, named):
        """named: iterable of (label, tensor); later labels win within one call."""
        if self.live:
            found = {}
            for label, tensor in named:
                tensor = getattr(tensor, "_local_tensor", tensor)
                if isinstance(tensor, self.torch.Tensor) and tensor.device.type == "cuda":
                    address = tensor.untyped_storage().data_ptr()
                    if address:
                        found[address] = label
            self.labels.append((len(self.markers) - 1, found))

    def reset_peaks(self):
        if self.live:
            self.torch.cuda.reset_peak_memory_stats()

    def snapshot(self):
        return self.torch.cuda.memory._snapshot() if self.live else None

    def stop(self):
        if self.live:
            self.torch.cuda.memory._record_memory_history(enabled=None)


def block_labels(model, optimizer, batch=()):
    """(label, tensor) of everything that lives from step to step."""
    for param in model.parameters():
        yield "parameter", param
        if param.grad is not None:
            yield "gradient", param.grad
    for buffer in model.buffers():
        yield "buffer", buffer
    if optimizer is not None:
        for state in optimizer.state.values():
            for name, value in state.items():
                yield f"optimizer.{name}", value
    for tensor in batch:
        yield "input", tensor
