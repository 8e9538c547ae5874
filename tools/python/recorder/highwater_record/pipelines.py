"""What the neighbours of a pipeline's stage would say of the tensors that they send (PyTorch 2.15 and later)."""


def describe_neighbours(module):
    """module: torch.distributed.pipelining.stage, just imported."""
    if not hasattr(module.PipelineStage, "_recv_meta"):
        return  # earlier releases exchange nothing but tensors

    def _recv_meta(self, src_stage):
        if src_stage < self.stage_index and self._user_meta.inputs:
            return module._StageForwardMeta(forward_metas=self._user_meta.inputs)
        if src_stage < self.stage_index:
            raise RuntimeError("highwater record: what the stage before sends is not known here, since only one rank "
                               "runs; give PipelineStage its input_args, or record the first stage")
        return module._StageBackwardMeta(backward_metas=tuple(map(_gradient_of, self._stage_meta.outputs)))

    module.PipelineStage._recv_meta = _recv_meta


def _gradient_of(output):
    """Gradients have the layout of what they are gradients of."""
    return output if output.requires_grad else None
