"""What a launcher tells the ranks that it starts, in variables."""
import contextlib
import os


def accelerate_variables(config_file):
    """Those of `accelerate launch --config_file FILE train.py`, by accelerate's own code."""
    from accelerate.commands import launch
    from accelerate.utils.launch import prepare_multi_gpu_env
    line = ["--config_file", config_file, "--main_process_port", "0", "train.py"]
    with contextlib.redirect_stdout(None):
        arguments, *_ = launch._validate_launch_command(launch.launch_command_parser().parse_args(line))
        variables = prepare_multi_gpu_env(arguments)
    return {name: value for name, value in variables.items() if os.environ.get(name) != value}
