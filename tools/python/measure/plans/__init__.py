"""Plans over all strategies: the model's requests beside PyTorch's, or PyTorch's beside a script written by hand."""
