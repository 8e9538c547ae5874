"""The plan of a run, as far as hooks can tell: what `highwater simulate --from record.pickle` starts from.

Only what was seen is written. What a value means for memory, and which option of a plan it becomes, is said where plans
are read (workloads/sources); what could not be seen is listed by name under "unknown".
"""
from .observer import Observer

__all__ = ["Observer"]
