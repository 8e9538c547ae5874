"""Compares workloads/facts/programs with installed releases of the programs (../check_facts.py).

`collect` runs in the Python that has the packages and reads their source with ast: nothing of a
package is imported, so that neither its dependencies nor a GPU are needed.
"""
