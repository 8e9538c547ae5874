"""Records what PyTorch's caching allocator does in training cases, on a real GPU or a simulated one. See tools/docs/measuring.md."""
