"""Cases under older releases: what these have, and what their scripts say otherwise."""

import dataclasses
import re
from typing import Optional

from .families import FAMILIES

FIRST_HERE = (5, 12)  # scripts are written for it and later
# The release of transformers that brought a family; those of the rest are older than any that is drawn.
SINCE = {"qwen3": (4, 51)}
NEW_DTYPE = (4, 56)  # torch_dtype is called dtype


def number(release):
    return tuple(int(part) for part in release.split(".")) if release else (10**6,)


@dataclasses.dataclass(frozen=True)
class Releases:
    """None: those that `simulate` takes by itself."""
    torch: Optional[str] = None
    transformers: Optional[str] = None

    def words(self):
        named = {"--torch": self.torch, "--transformers": self.transformers}
        return [word for option, release in named.items() if release for word in (option, release)]

    def have(self, case):
        """Experts were loops before 5, whose lengths the host reads; fsdp=True was another one."""
        release = number(self.transformers)
        if release >= FIRST_HERE:
            return True
        is_dense = not FAMILIES[case["family"]].is_mixture
        return is_dense and release >= SINCE.get(case["family"], (0,)) and \
            (case["loop"] == "hf" or (case["loop"] == "trainer" and case["sharding"] != "fsdp2"))

    def script(self, text):
        return text if number(self.transformers) >= NEW_DTYPE else re.sub(r"(from_config\(.*?)\bdtype=", r"\1torch_dtype=", text)
