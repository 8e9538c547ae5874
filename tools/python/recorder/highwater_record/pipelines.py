"""What the neighbours of a pipeline's stage would say of the tensors that they send.

A stage asks for the shapes that arrive: until PyTorch 2.11 the one before it (stage.py, _shape_inference), since 2.12 both
(_recv_meta). The objects that answer are received as they would be, in tensors of the size that they have when packed.
"""
import dataclasses
import functools
import pickle

SETTING = "HIGHWATER_RECORD_STAGE_INPUT"


def describe_neighbours(options, module):
    """module: torch.distributed.pipelining.stage, just imported."""
    stage = module.PipelineStage
    if hasattr(stage, "_recv_meta"):
        stage._recv_meta = _answering(module, stage._recv_meta, functools.partial(_metadata, options, module))
    else:
        stage._shape_inference = _answering(module, stage._shape_inference, functools.partial(_tensors, options))


def _answering(module, function, answer):
    """The stage's method, in which an object that is received is answer(stage, the method's arguments)."""
    @functools.wraps(function)
    def method(stage, *args, **kwargs):
        receive = module.dist.recv_object_list
        module.dist.recv_object_list = lambda objects, **how: _receive(receive, objects, how, answer(stage, *args))
        try:
            return function(stage, *args, **kwargs)
        finally:
            module.dist.recv_object_list = receive

    return method


class _Sum:
    """The sum of the sizes of packed objects, which the host reads."""

    def __init__(self, value, size):
        self._value, self._size = value, size

    def item(self):
        self._value.item()  # waits, as it would
        return self._size


def _receive(receive, objects, how, thing):
    import torch
    c10d = torch.distributed.distributed_c10d
    total, unpack = torch.sum, c10d._tensor_to_object
    torch.sum = lambda sizes: _Sum(total(sizes), len(pickle.dumps(thing)))
    c10d._tensor_to_object = lambda view, *_: (view.cpu(), thing)[1]
    try:
        return receive(objects, **how)
    finally:
        torch.sum, c10d._tensor_to_object = total, unpack


def shape_of(setting):
    """(shape, name of a type) of "2x256x512:bfloat16"."""
    sizes, _, name = setting.partition(":")
    return tuple(int(size) for size in sizes.split("x")), name


def _tensors(options, stage, *_):
    """What the stage before sends until PyTorch 2.11: its outputs, on meta."""
    import torch
    shape, name = shape_of(_required(options))
    return (torch.empty(shape, dtype=getattr(torch, name), device="meta"),)


def _metadata(options, module, stage, source):
    """What neighbours send since PyTorch 2.12."""
    import torch
    if source > stage.stage_index:
        return module._StageBackwardMeta(backward_metas=tuple(map(_gradient_of, stage._stage_meta.outputs)))
    if not options.stage_input and stage._user_meta.inputs:
        return module._StageForwardMeta(forward_metas=tuple(_as_output(stage, meta) for meta in stage._user_meta.inputs))
    shape, name = shape_of(_required(options))
    sent = torch.empty(shape, dtype=getattr(torch, name), device="meta", requires_grad=stage.has_backward)
    return module._StageForwardMeta(forward_metas=(module._TensorMeta.from_tensor(sent),))


def _required(options):
    if options.stage_input:
        return options.stage_input
    raise RuntimeError("highwater record: what the stage before sends is not known here, since only one rank runs; name its "
                       f"shape and type by {SETTING}=2x256x512:bfloat16, or record the first stage")


def _as_output(stage, meta):
    """The stage before has computed it; a script's example is a leaf."""
    return dataclasses.replace(meta, requires_grad=stage.has_backward and meta.dtype.is_floating_point)


def _gradient_of(output):
    """Gradients have the layout of what they are gradients of."""
    return output if output.requires_grad else None
