"""Forward passes without gradients: of transformers' Trainer while it evaluates, of a script's own evaluation, others."""
import os
import sys

from .frames import variables

_TRAINER = os.path.join("transformers", "trainer.py")


class Evaluations:
    """What evaluates between steps; passes of generation or of another model are counted as others."""

    def __init__(self, torch):
        self._torch = torch
        self.others = 0
        self._passes = {}     # steps before it -> forward passes
        self._shapes = set()  # of them: (sequences, tokens), or None
        self._facts = None

    def note(self, batch, steps, is_models):
        """A forward pass without gradients. batch: Batch, or None; steps: that the optimizer has done; is_models: of the model that is trained, in eval()"""
        loop = _evaluation_loop()
        if loop is None and not (is_models and batch is not None and batch.has_labels()):
            self.others += 1
            return
        self._passes[steps] = self._passes.get(steps, 0) + 1
        shape = batch.tokens() if batch is not None else None
        self._shapes.add(tuple(shape) if shape else None)
        if loop is not None:
            self._facts = {**(self._facts or {}), **self._told_by(loop)}
        elif self._facts is None:
            self._facts = {"by": "script"}

    def _told_by(self, loop):
        """The settings of Trainer's loop. From its second pass on it has what the first one left behind."""
        trainer, loss_only, logits = variables(loop, "self", "prediction_loss_only", "logits")
        args = trainer.args
        told = {"by": "trainer", "loss_only": bool(loss_only), "accumulation_steps": args.eval_accumulation_steps,
                "concatenates": bool(getattr(args, "eval_do_concat_batches", True)),
                "metrics_by_batch": bool(getattr(args, "batch_eval_metrics", False)),
                "inputs_for_metrics": "inputs" in (getattr(args, "include_for_metrics", None) or ()),
                "preprocesses": getattr(trainer, "preprocess_logits_for_metrics", None) is not None}
        if isinstance(logits, self._torch.Tensor):
            told["gathered"] = [str(logits.dtype).removeprefix("torch."), *logits.shape]
        elif logits is not None:
            told["gathered"] = type(logits).__name__
        return told

    def described(self):
        """JSON values; None where nothing was evaluated."""
        if not self._passes:
            return None
        return {**self._facts, "after_steps": list(self._passes), "passes": list(self._passes.values()),
                "shapes": [list(shape) if shape else None for shape in sorted(self._shapes, key=str)]}


def are_running():
    return _evaluation_loop() is not None


def _evaluation_loop():
    """The frame of Trainer's evaluation, or None."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "evaluation_loop" and frame.f_code.co_filename.endswith(_TRAINER):
            return frame
        frame = frame.f_back
    return None
