"""Allocates until memory runs out, within hw.watch."""
import sys

import torch

import highwater as hw

with hw.watch(sys.argv[1]):
    kept = []
    while True:
        kept.append(torch.empty(64 << 20, device="cuda"))
        kept.append(torch.empty(1000 * len(kept) + 1, device="cuda"))
