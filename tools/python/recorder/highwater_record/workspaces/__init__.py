"""Blocks that NVIDIA's libraries compute in: whom to ask how large they are, and which ones of a history they were."""
