"""Carries out training plans with the installed PyTorch, for `highwater --engine torch`.

A plan becomes the script that its user would write (scripts/), which runs under the recorder of `highwater record` in a
fork of a process that has torch loaded (serve.py).
"""
