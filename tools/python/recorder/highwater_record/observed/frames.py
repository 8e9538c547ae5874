"""Variables of functions that are running."""
import sys

_COPIES = sys.version_info < (3, 13)  # later, f_locals reads the variables themselves (PEP 667)


def variables(frame, *names):
    """Those of these names; None for what is not there.

    A frame keeps the dictionary that f_locals fills, and with it every variable of this moment: the tensors of a step would
    live as long as the function runs, or until somebody asks again. So it is emptied; the variables stay.
    """
    found = frame.f_locals
    values = tuple(found.get(name) for name in names)
    if _COPIES:
        found.clear()
    return values
