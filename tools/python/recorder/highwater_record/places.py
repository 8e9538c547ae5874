"""Moments of a run as positions in the allocator's history.

While the script runs, a moment is what the allocator of the current device has counted so far. Its position follows
when the history is there: it is reached when as many entries of each kind have passed.
"""
import dataclasses

COUNTED = (("alloc", "allocation", "allocated"), ("free_requested", "allocation", "freed"),
           ("free_completed", "active", "freed"))
SINGLE = ("num_ooms", "num_device_alloc", "num_device_free")  # since 2.2: one more for each of their entries
_PLACE = {action: place for place, (action, _, _) in enumerate(COUNTED)}
_PLACE.update(oom=3, segment_alloc=4, segment_map=4, segment_free=5, segment_unmap=5)


@dataclasses.dataclass(frozen=True)
class Moment:
    device: int
    counts: tuple  # allocs, frees requested, frees completed; where they are known, the SINGLE ones, too


class Clock:
    """@pre nothing has been allocated when it is made"""

    def __init__(self, torch):
        self._cuda = torch.cuda
        self._before_reset = {}
        self._reset = torch.cuda.memory.reset_accumulated_memory_stats
        torch.cuda.memory.reset_accumulated_memory_stats = torch.cuda.reset_accumulated_memory_stats = self._keep_counting

    def now(self, device=None):
        """device: None is the current one."""
        device = self._cuda.current_device() if device is None else device
        return Moment(device, self._counts(device))

    def start(self, device):
        """Before everything that the history of a device can hold."""
        return Moment(device, (0,) * len(self._counts(device)))

    def _counts(self, device):
        stats = self._cuda.memory.memory_stats_as_nested_dict(device)
        counted = [stats.get(group, {}).get("all", {}).get(field, 0) for _, group, field in COUNTED]
        if all(name in stats for name in SINGLE):
            counted += [stats[name] for name in SINGLE]
        return tuple(map(sum, zip(counted, self._before_reset.get(device, (0,) * len(counted)))))

    def _keep_counting(self, device=None):
        number = self._cuda.current_device() if device is None else self._cuda._utils._get_device_index(device)
        self._before_reset[number] = self._counts(number)
        self._reset(device)


def positions(history, moments):
    """Where in `history`, the entries of one device, each of `moments` lies; they are in order. None: not reached."""
    seen, found = [0] * (len(COUNTED) + len(SINGLE)), []
    waiting = iter(moments)
    wanted = next(waiting, None)
    for position in range(len(history) + 1):
        while wanted is not None and tuple(seen[:len(wanted.counts)]) == wanted.counts:
            found.append(position)
            wanted = next(waiting, None)
        if wanted is None or position == len(history):
            break
        place = _PLACE.get(history[position]["action"])
        if place is not None:
            seen[place] += 1
    return found + [None] * (len(moments) - len(found))
