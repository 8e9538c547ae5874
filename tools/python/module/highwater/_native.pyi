__version__: str

def call(arguments: list[str], threads: int = 0) -> tuple[str, list[str]]: ...
def show_progress(shown: bool) -> None: ...

class HeldBytes:
    def __init__(self, name: str, data: bytes) -> None: ...
    @property
    def name(self) -> str: ...

def zero2(
    parameters: float, gpus_per_node: int, nodes: int, offload: bool, factor: float, /
) -> tuple[int, int]: ...
def zero3(
    parameters: float,
    largest_layer: float,
    gpus_per_node: int,
    nodes: int,
    offload: bool,
    offload_parameters: bool,
    zero_init: bool,
    factor: float,
    /,
) -> tuple[int, int]: ...
