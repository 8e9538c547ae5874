"""hw.watch and its callbacks, with stand-ins for torch: what is switched, written and said."""
import pickle
import sys
import types

import pytest

SNAPSHOT = {
    "segments": [],
    "device_traces": [[{"action": "segment_alloc", "addr": 4096, "size": 2097152, "stream": 0},
                       {"action": "alloc", "addr": 4096, "size": 1000, "stream": 0},
                       {"action": "oom", "size": 4194304, "stream": 0, "device_free": 1000}]],
}


class Torch(types.ModuleType):
    """As much of torch as watch uses."""

    def __init__(self):
        super().__init__("torch")
        self.observers = []
        self.history = []
        self.cuda = types.SimpleNamespace(
            is_available=lambda: True,
            memory=types.SimpleNamespace(_record_memory_history=self.record, _dump_snapshot=self.dump))
        self._C = types.SimpleNamespace(
            _cuda_attach_out_of_memory_observer=self.observers.append,
            _cuda_isHistoryEnabled=lambda: bool(self.history) and self.history[-1] is not None)

    def record(self, enabled="all", max_entries=0):
        self.history.append(enabled)

    def dump(self, path):
        with open(path, "wb") as file:
            pickle.dump(SNAPSHOT, file)

    def run_out(self):
        for observer in self.observers:
            observer(0, 4194304, 2097152, 1000)


@pytest.fixture
def torch(monkeypatch):
    from highwater import _watch

    stand_in = Torch()
    monkeypatch.setitem(sys.modules, "torch", stand_in)
    monkeypatch.setattr(_watch, "_is_attached", False)
    return stand_in


def test_the_verdict_is_that_of_explain(torch, tmp_path, capsys):
    import highwater as hw

    with hw.watch(tmp_path / "oom.pickle") as watch:
        torch.run_out()
        torch.run_out()
    assert watch.files == [str(tmp_path / "oom.pickle"), str(tmp_path / "oom-2.pickle")]
    captured = capsys.readouterr()
    assert str(hw.load(watch.files[0]).explain()) in captured.err
    assert captured.out == ""


def test_history_is_left_as_it_was(torch, tmp_path):
    import highwater as hw

    with hw.watch(tmp_path / "oom.pickle"):
        assert torch.history == ["all"]
    assert torch.history == ["all", None]
    torch.record()
    with hw.watch(tmp_path / "oom.pickle"):
        pass
    assert torch.history == ["all", None, "all"]


def test_nothing_is_said_outside(torch, tmp_path, capsys):
    import highwater as hw

    with hw.watch(tmp_path / "oom.pickle"):
        pass
    torch.run_out()
    assert capsys.readouterr().err == ""


def test_a_failure_of_its_own_is_a_sentence(torch, tmp_path, capsys):
    import highwater as hw

    with hw.watch(tmp_path / "no" / "folder" / "oom.pickle"):
        torch.run_out()
    assert "could not be explained" in capsys.readouterr().err
