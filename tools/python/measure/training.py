"""The training loop of a case. How long each tensor lives is part of the recording: see Training."""

import contextlib
import dataclasses
import gc
import sys

from . import models, optimizers, process_group, wrappers
from .case_fields import CaseError, sequence_lengths
from .plain_decoder import PlainDecoder
from .recorder import block_labels

DTYPES = {"bf16": "bfloat16", "fp16": "float16"}  # of the model; other precisions: float32
AUTOCAST = {"amp-bf16": "bfloat16", "amp-fp16": "float16"}


@dataclasses.dataclass
class Run:
    """One case in progress. `report` becomes X.json."""
    torch: object
    case: dict
    device: str         # cuda | cpu
    tiny: bool          # models of a self-test
    fake_device: bool   # copies to the host give zeros
    recorder: object
    report: dict


def model_dtype(torch, case):
    return getattr(torch, DTYPES.get(case["precision"], "float32"))


def causal_loss(torch, logits, labels, loss_kind):
    functional = torch.nn.functional
    if loss_kind == "shift":
        logits = logits[..., :-1, :].contiguous()
        labels = labels[..., 1:].contiguous()
    return functional.cross_entropy(logits.float().flatten(0, 1), labels.flatten(0, 1))


def attention_mask(torch, case, shape):
    mask = torch.ones(shape, dtype=torch.long)
    if case["attention_mask"] == "padded":
        mask[-1, 0] = 0
    return mask


def note_tensors(run, named_parameters, named_buffers):
    """Adds names, shapes and types to the report: a description without them cannot be simulated."""
    def dtype(tensor):
        return str(tensor.dtype).removeprefix("torch.")

    run.report["parameters"] = [[name, list(p.shape), dtype(p), list(getattr(p, "_local_tensor", p).shape)]
                                for name, p in named_parameters]
    run.report["buffers"] = [[name, list(b.shape), dtype(b)] for name, b in named_buffers]
    if "transformers" in sys.modules:
        run.report["transformers"] = sys.modules["transformers"].__version__


class Training:
    """The loop of a plain PyTorch program.

    Attributes take the place of that program's variables, and each is assigned where the program would assign it:
    the tokens of a micro-batch live until the next ones are on the device, the loss until the next one is computed,
    the logits (keep_logits) until the next forward has returned. Other ways of training override single methods.
    """

    def __init__(self, run):
        self.run, self.torch, self.case, self.rec = run, run.torch, run.case, run.recorder
        self.dist = run.case["dist"]
        self.tokens = self.labels = self.outputs = self.loss = None
        self.extra = {}

    # ------------------------------------------------------------------------------- before the steps

    def start_group(self):
        backend = self.dist.get("backend") or process_group.default_backend(self.run.fake_device)
        process_group.start_group(self.torch, backend, process_group.world_of(self.dist))
        self.dist["backend"] = self.run.report["backend"] = backend
        self.rec.mark("group")

    def build_model(self):
        device, init = self.run.device, self.case["init"]
        where = device if init == "device" else init
        self.model, self.run.report["model"] = models.build(self.case, where, model_dtype(self.torch, self.case),
                                                            self.run.tiny)
        if init == "cpu":
            self.model.to(device)
        self.rec.mark("model")

    def wrap(self):
        return wrappers.wrap_model(self.torch, self.case, self.model, self.run.device)

    def materialise(self):
        self.runner.to_empty(device=self.run.device)
        wrappers.refill(self.torch, self.runner)

    def causal_loss(self, logits, labels):
        return causal_loss(self.torch, logits, labels, self.case["loss"])

    def prepare(self):
        torch, case = self.torch, self.case
        if self.dist["kind"] != "none":
            self.start_group()
        self.build_model()
        models.freeze(self.model, case["freeze"])
        models.set_recompute(self.model, case["checkpoint"])
        self.model.train(case["mode"] == "train")
        self.runner = self.wrap()
        if case["init"] == "meta":
            self.materialise()
        self.rec.mark("wrap")
        note_tensors(self.run, self.runner.named_parameters(), self.runner.named_buffers())
        self.optimizer = optimizers.make_optimizer(torch, case, self.runner)
        self.rec.mark("optimizer")
        self.rec.label(block_labels(self.runner, self.optimizer))
        scales = case["precision"] == "amp-fp16" and self.optimizer
        self.scaler = torch.amp.GradScaler(self.run.device, init_scale=1024.0) if scales else None
        self.lengths = self.run.report["sequence_lengths"] = sequence_lengths(case)
        self.vocab = getattr(self.model, "vocab", None) or self.model.config.vocab_size
        self.generator = torch.Generator().manual_seed(1)
        self.is_plain = isinstance(self.model, PlainDecoder)

    # ------------------------------------------------------------------------------------- contexts

    @contextlib.contextmanager
    def compute(self):
        torch, case = self.torch, self.case
        with contextlib.ExitStack() as stack:
            if case["mode"] == "eval":
                stack.enter_context(torch.no_grad())
            if case["precision"] in AUTOCAST:
                dtype = getattr(torch, AUTOCAST[case["precision"]])
                stack.enter_context(torch.autocast(self.run.device, dtype=dtype))
            if case["sdpa_backend"]:
                from torch.nn.attention import SDPBackend, sdpa_kernel
                stack.enter_context(sdpa_kernel({"flash": SDPBackend.FLASH_ATTENTION, "math": SDPBackend.MATH,
                                                 "efficient": SDPBackend.EFFICIENT_ATTENTION,
                                                 "cudnn": SDPBackend.CUDNN_ATTENTION}[case["sdpa_backend"]]))
            yield

    def loss_context(self):
        if self.dist.get("loss_parallel"):
            from torch.distributed.tensor.parallel import loss_parallel
            return loss_parallel()
        return contextlib.nullcontext()

    def sync_context(self, last):
        if self.case["no_sync"] and not last and hasattr(self.runner, "no_sync"):
            return self.runner.no_sync()
        return contextlib.nullcontext()

    # ----------------------------------------------------------------------------------------- steps

    def load(self, step, micro):
        torch, case, device = self.torch, self.case, self.run.device
        shape = (case["batch"], self.lengths[step * case["grad_accum"] + micro])
        if case["data"] == "device":
            self.tokens = torch.randint(0, self.vocab, shape, device=device)
            self.labels = self.tokens.clone()
        else:
            on_host = torch.randint(0, self.vocab, shape, generator=self.generator)
            self.tokens = on_host.to(device)
            self.labels = on_host.clone().to(device)
        self.extra = {"attention_mask": attention_mask(torch, case, shape).to(device)} \
            if case["attention_mask"] else {}
        self.rec.mark("data", step, micro, shape=list(shape))
        self.rec.label(("input", tensor) for tensor in (self.tokens, self.labels, *self.extra.values()))

    def forward(self):
        case = self.case
        if self.is_plain or case["loss"] != "hf":
            result = self.runner(self.tokens, **self.extra)
            self.outputs = result if self.is_plain else result.logits
            del result
            self.loss = self.causal_loss(self.outputs, self.labels)
            if not case["keep_logits"]:
                self.outputs = None
        elif case["keep_logits"]:
            self.outputs = self.runner(input_ids=self.tokens, labels=self.labels, **self.extra)
            self.loss = self.outputs.loss
        else:
            self.loss = self.runner(input_ids=self.tokens, labels=self.labels, **self.extra).loss

    def backward(self):
        if self.case["grad_accum"] > 1:
            self.loss = self.loss / self.case["grad_accum"]
        (self.scaler.scale(self.loss) if self.scaler else self.loss).backward()

    def micro_batch(self, step, micro):
        last = micro == self.case["grad_accum"] - 1
        self.load(step, micro)
        if hasattr(self.runner, "set_requires_gradient_sync") and self.case["no_sync"]:
            self.runner.set_requires_gradient_sync(last)
        with self.sync_context(last), self.loss_context():
            with self.compute():
                self.forward()
            self.rec.mark("forward", step, micro)
            if self.case["mode"] == "train":
                self.backward()
                self.rec.mark("backward", step, micro)
                self.rec.label(block_labels(self.runner, self.optimizer))

    def clip(self):
        if self.scaler:
            self.scaler.unscale_(self.optimizer)
        if self.dist["kind"] == "fsdp1":
            self.runner.clip_grad_norm_(self.case["grad_clip"])
        else:
            self.torch.nn.utils.clip_grad_norm_(self.runner.parameters(), self.case["grad_clip"])

    def optimize(self):
        if self.scaler:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.optimizer.step()

    def zero_grad(self, step):
        (self.optimizer or self.runner).zero_grad(set_to_none=self.case["set_to_none"])
        self.rec.mark("zero_grad", step)

    def update(self, step):
        case = self.case
        if case["grad_clip"]:
            self.clip()
            self.rec.mark("clip", step)
        if self.optimizer is not None:
            self.optimize()
            self.rec.mark("optimizer_step", step)
            self.rec.label(block_labels(self.runner, self.optimizer))
        if case["zero_grad_at"] == "end":
            self.zero_grad(step)
        if case["empty_cache_every_step"] and self.rec.live:
            self.torch.cuda.empty_cache()
            self.rec.mark("empty_cache", step)

    def step(self, step):
        self.rec.reset_peaks()
        self.rec.mark("step_begin", step)
        if self.case["zero_grad_at"] == "start" and self.optimizer is not None:
            self.zero_grad(step)
        for micro in range(self.case["grad_accum"]):
            self.micro_batch(step, micro)
        if self.case["mode"] == "train":
            self.update(step)
        self.rec.mark("step_end", step)

    def tear_down(self):
        """What remains once the owners are gone: after the snapshot, only for the statistics."""
        self.tokens = self.labels = self.extra = self.outputs = self.loss = None
        self.optimizer = self.scaler = None
        gc.collect()
        self.rec.mark("drop_optimizer", after_snapshot=True)
        self.runner = self.model = None
        gc.collect()
        self.rec.mark("drop_model", after_snapshot=True)
        if self.rec.live:
            self.torch.cuda.empty_cache()
            self.rec.mark("empty_cache", after_snapshot=True)

    def __call__(self):
        self.prepare()
        for step in range(self.case["steps"]):
            self.step(step)
            if self.run.fake_device:
                process_group.let_watchdog_run(self.torch)
        self.run.report["_snapshot"] = self.rec.snapshot()
        self.run.report["loss"] = None if self.dist.get("loss_parallel") else float(self.loss.detach().cpu())
        if self.case["teardown"]:
            self.tear_down()


def train(run):
    if run.case["lora"]:
        raise CaseError("lora: only tools/python/frameworks/record_deepspeed.py adds adapters")
    Training(run)()
