"""What is needed to run the same programs on a device that computes nothing, or without one."""

import contextlib


def patch_for_fake_device(case):
    """A device whose copies to the host give zeros answers every data-dependent check with 'no'.

    The checks below are then run for their allocations, and the answer of the case's data is given: rows are not
    packed, and a mask is full unless it is padded.
    """
    try:
        from transformers import masking_utils
    except ImportError:
        return
    is_full = case["attention_mask"] != "padded"
    packed = masking_utils.find_packed_sequence_indices

    def find_packed_sequence_indices(position_ids):
        packed(position_ids)

    masking_utils.find_packed_sequence_indices = find_packed_sequence_indices
    if hasattr(masking_utils, "fast_all"):  # transformers 5.14
        fast_all = masking_utils.fast_all
        masking_utils.fast_all = lambda mask: fast_all(mask) is not None and is_full
    elif is_full:
        _answer_for_a_full_mask(masking_utils, "_ignore_causal_mask_sdpa")
    if is_full:
        _answer_for_a_full_mask(masking_utils, "_ignore_bidirectional_mask_sdpa")


def _answer_for_a_full_mask(masking_utils, name):
    """Lets the function ask, and then answer as if there were no mask."""
    ignore = getattr(masking_utils, name)

    def ignore_mask(padding_mask, *args, **kwargs):
        ignore(padding_mask, *args, **kwargs)
        return ignore(None, *args, **kwargs)

    setattr(masking_utils, name, ignore_mask)


def patch_for_cpu(torch):
    """What the CPU's stream class lacks for fully_shard; the self-test only."""
    event = type("Event", (), {"wait": lambda *a: None, "record": lambda *a: None, "synchronize": lambda *a: None,
                               "query": lambda *a: True})
    for name, value in (("record_event", lambda self, event_=None: event()), ("wait_event", lambda self, event_: None)):
        if not hasattr(torch.cpu.Stream, name):
            setattr(torch.cpu.Stream, name, value)
    import torch.distributed.fsdp  # noqa: F401  (registers the operator)
    copy_out = torch.ops.fsdp.split_with_sizes_copy

    def split_with_sizes_copy(source, sizes, dim=0, *, out):
        # On CUDA one kernel writes all outputs and leaves their versions alone.
        with contextlib.ExitStack() as stack:
            for tensor in out:
                stack.enter_context(torch.autograd._unsafe_preserve_version_counter(tensor))
            copy_out(source, sizes, dim=dim, out=out)

    torch.ops.fsdp.split_with_sizes_copy = split_with_sizes_copy
