"""Records what PyTorch's caching allocator does in training cases, on a real GPU or a simulated one. See tools/docs/measuring.md."""
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "engine"))  # highwater_engine: the lines of scripts
os.environ["HIGHWATER_CONFIG"] = ""  # no defaults of whoever runs this
