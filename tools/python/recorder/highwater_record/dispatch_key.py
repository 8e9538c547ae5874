"""Sees operators before anything else of PyTorch does, without a dispatch mode.

The dispatcher has keys in front of all others that no tensor and no library uses. Once a thread includes one, operators
that have a kernel for it go there first; all others fall through as if it were not there. Those kernels run the
operator as ever, by redispatch below the key: its requests, streams and autograd nodes are the same, and the frames
that the kernels add to call stacks are taken out again (call_stacks.py).
"""
import functools

_NUMBERS = (int, float, bool, complex)

class DispatchKey:
    def __init__(self, torch, name):
        self._torch = torch
        self._name = name
        self.key = torch._C._dispatch_key_parse(name)
        others = torch._C._dispatch_library("IMPL", "_", name, __file__, 0)
        others.fallback_fallthrough()
        self._libraries = [others]  # kernels live as long as their library
        self._let_higher_order_operators_pass()

    def _let_higher_order_operators_pass(self):
        """Those that Python dispatches (flex_attention, checkpointing in a compiled function): made and to be made."""
        operators = self._torch._ops
        operators._HIGHER_ORDER_OP_DEFAULT_FALLTHROUGH_DISPATCH_KEYS.append(self.key)
        for operator in list(operators._higher_order_ops.values()):
            operator.fallthrough(self.key)

    def observe(self, operators, function, namespace="aten"):
        """function(run, operator, args, kwargs) takes the place of each operator; run() runs it."""
        library = self._torch.library.Library(namespace, "IMPL")
        self._libraries.append(library)
        for operator in operators:
            library.impl(operator, self._kernel(operator, function), self._name, with_keyset=True)

    def _kernel(self, operator, function):
        key, torch, alone = self.key, self._torch, self._torch._C.DispatchKeySet(self.key)

        def kernel(keys, *args, **kwargs):
            def run():
                if not any(type(value) in _NUMBERS for value in args):
                    return operator.redispatch(keys.remove(key), *args, **kwargs)
                # A number in the place of a tensor arrives as such, and redispatch does not make it a tensor again.
                with torch._C.DisableTorchFunction(), torch._C._ExcludeDispatchKeyGuard(alone):
                    return operator(*args, **kwargs)

            return function(run, operator, args, kwargs)

        return kernel

    def include(self):
        """In this thread, and in those that run its backward passes."""
        self._torch._C._dispatch_tls_set_dispatch_key_included(self.key, True)

    def leave_gradients_alone(self):
        """Excludes the key in backward passes, except in the forward passes that checkpointing runs there again.

        A tensor that Python has seen may have one more owner, so that PyTorch would sum gradients into a new tensor
        where it sums in place.
        """
        torch, keys = self._torch, self._torch._C.DispatchKeySet(self.key)
        run_backward = torch.autograd.graph._engine_run_backward

        @functools.wraps(run_backward)
        def _engine_run_backward(*args, **kwargs):
            with torch._C._ExcludeDispatchKeyGuard(keys):
                return run_backward(*args, **kwargs)

        torch.autograd.graph._engine_run_backward = torch.autograd._engine_run_backward = _engine_run_backward
        self._return_for_recomputation()

    def _return_for_recomputation(self):
        """Every implementation of checkpointing enables gradients before it runs a forward pass again."""
        key, C, enable = self.key, self._torch._C, self._torch.enable_grad
        enter, leave = enable.__enter__, enable.__exit__

        def __enter__(self):
            self._excluded = C._dispatch_tls_is_dispatch_key_excluded(key)
            if self._excluded:
                C._dispatch_tls_set_dispatch_key_excluded(key, False)
            return enter(self)

        def __exit__(self, *error):
            if self._excluded:
                C._dispatch_tls_set_dispatch_key_excluded(key, True)
            return leave(self, *error)

        enable.__enter__, enable.__exit__ = __enter__, __exit__
