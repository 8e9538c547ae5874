"""The options of `highwater record`, as passed in the environment."""
import dataclasses
import os


@dataclasses.dataclass
class Settings:
    status_file: str          # where this package reports what happened (status.py)
    output: str               # the snapshot
    libraries: str            # folder with cuda12/ and cuda13/
    steps: int                # stop after this many optimizer steps; 0: at the script's end
    finish_step: bool         # the last of these steps ends with the script's next forward pass
    stacks: str               # none | python | all
    max_entries: int          # length of the history
    world_size: int           # 0: not distributed
    rank: int
    cudnn: str                # a folder with another cuDNN than the one PyTorch was installed with; see workspaces/cudnn.py
    cudnn_cache: str          # where its answers are kept, or empty
    answers: str              # "nonzero=0.25,item=1"; see answers.py
    moe_load: str             # "even", "busiest:2", "zipf:1" or shares of the experts, "0.5,0.3,0.2"; see experts/routing.py
    stage_input: str          # "2x256x512:bfloat16": what a pipeline's stage before this rank's sends; see pipelines.py
    modules: bool             # blocks get their module and category; see attributes.py
    patience: float           # seconds without an optimizer step before values read in a loop are suspected
    described: str            # JSON object that goes into the snapshot as it is (device, ranks)

    def adopt(self, environment):
        """Takes the options of another environment: those of a fork that runs another script."""
        vars(self).update(vars(from_environment(environment)))


def from_environment(environment=os.environ):
    get = lambda name, fallback="": environment.get("HIGHWATER_RECORD_" + name) or fallback  # noqa: E731
    return Settings(
        status_file=get("STATUS"),
        output=get("OUTPUT"),
        libraries=get("LIBRARIES"),
        steps=int(get("STEPS", "0")),
        finish_step=get("FINISH_STEP") == "1",
        stacks=get("STACKS", "python"),
        max_entries=int(get("MAX_ENTRIES", "0")) or 2**40,
        world_size=int(get("WORLD_SIZE", "0")),
        rank=int(get("RANK", "0")),
        cudnn=get("CUDNN"),
        cudnn_cache=get("CUDNN_CACHE"),
        answers=get("ANSWERS"),
        moe_load=get("MOE_LOAD", "even"),
        stage_input=get("STAGE_INPUT"),
        modules=get("MODULES") == "1",
        patience=float(get("PATIENCE", "20")),
        described=get("DESCRIBED", "{}"),
    )
