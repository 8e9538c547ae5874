"""Architectures drawn from transformers by a seed: what --engine auto answers, beside recordings of the same scripts."""
