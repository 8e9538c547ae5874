#!/usr/bin/env python3
"""Makes an environment with Transformer Engine for `highwater record`; no GPU, driver or CUDA toolkit is needed.

  install.py FOLDER --fake-cuda build/dev/fakecuda/cuda13 [--like PYTHON] [--version 2.20.2] [--cuda TOOLKIT] [--jobs N]

FOLDER gets a virtual environment that sees the packages of --like (a Python with PyTorch for CUDA 13; by default the one
that runs this). The library of Transformer Engine comes as a wheel; its extension for PyTorch is compiled here against
that PyTorch, from its own source package: 33 C++ files, no CUDA source. PyTorch is imported for that on the fake CUDA
libraries. CUDA's headers come from NVIDIA's wheels, unless --cuda names a toolkit that has them.

The extension is compiled without optimization and its common header once (compiler.py), since only its host code runs.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import time
import venv

HERE = pathlib.Path(__file__).resolve().parent

# What the extension's package requires (its build_tools/pytorch.py, install_requirements), and what those require;
# without NVIDIA's cudnn-frontend, which only its kernels in CuTe DSL import.
PACKAGES = ("ninja", "pybind11", "onnx", "onnxscript", "onnx-ir", "ml_dtypes", "protobuf", "nvdlfw-inspect",
            "importlib_metadata", "zipp", "einops", "packaging", "pydantic", "annotated-types",
            "typing-inspection", "wheel", "setuptools<81", "numpy", "pyyaml")
# `record` asks the real cuDNN and NVRTC; the extension includes headers of cuDNN and NCCL. The releases are those that
# PyTorch requires.
LIBRARIES = ("nvidia-cudnn-cu13", "nvidia-nccl-cu13")
# What PyTorch's headers include of CUDA 13, and the compiler that the extension's setup asks for CUDA's version.
HEADERS = ("nvidia-cuda-runtime", "nvidia-cuda-crt", "nvidia-cuda-nvcc", "nvidia-nvvm", "nvidia-cuda-cccl", "nvidia-cublas",
           "nvidia-cusparse", "nvidia-cusolver", "nvidia-curand", "nvidia-cufft", "nvidia-nvtx", "nvidia-cuda-profiler-api",
           "nvidia-cuda-cupti")


def run(command, **options):
    print("+", *command, flush=True)
    subprocess.run([str(word) for word in command], check=True, **options)


def answer(python, script, environment):
    """What a script prints in another Python."""
    done = subprocess.run([python, "-c", script], check=True, env=environment, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


class Environment:
    """A virtual environment in front of the packages of another Python."""

    def __init__(self, folder, like, fake_cuda):
        venv.create(folder, with_pip=True)
        self.python = folder / "bin" / "python"
        packages = answer(like, "import sysconfig; print(sysconfig.get_paths()['purelib'])", None)
        self.packages = pathlib.Path(answer(self.python, "import sysconfig; print(sysconfig.get_paths()['purelib'])", None))
        (self.packages / "like.pth").write_text(packages + "\n", encoding="utf-8")
        self.variables = {**os.environ, "LD_LIBRARY_PATH": str(fake_cuda), "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}

    def pip(self, *arguments, **variables):
        run([self.python, "-m", "pip", "--disable-pip-version-check", *arguments], env={**self.variables, **variables})

    def has(self, name):
        script = f"import importlib.metadata as m; m.version({name!r})"
        return subprocess.run([self.python, "-c", script], check=False, stderr=subprocess.DEVNULL).returncode == 0

    def install(self, *requirements):
        """Without their dependencies: PyTorch's would be NVIDIA's libraries, which the fake ones replace."""
        missing = [name for name in requirements if "=" in name or not self.has(name.split("<")[0])]
        if missing:
            self.pip("install", "--quiet", "--no-deps", *missing)

    def required(self, name, by):
        """The release of a package that another one asks for: "pydantic-core==2.46.4"."""
        script = ("import importlib.metadata as m, re; "
                  f"print(next((r.split(';')[0] for r in m.requires({by!r}) or () if re.match({name!r} + '[ =]', r)), {name!r}))")
        return answer(self.python, script, self.variables)


def cuda_of_torch(environment):
    """Its release of CUDA: "13.2"."""
    version = answer(environment.python, "import torch; print(torch.version.cuda or '')", environment.variables)
    if not version.startswith("13."):
        sys.exit(f"install.py: PyTorch is built for CUDA {version or 'none'}; the wheel of Transformer Engine's library "
                 "that is taken here is for CUDA 13: name a Python with such a PyTorch by --like")
    return version


def source_of(environment, version, folder):
    """The extension's unpacked source package."""
    environment.pip("download", "--quiet", "--no-deps", "--no-build-isolation", "--no-binary", ":all:", "--dest", str(folder),
                    f"transformer-engine-torch=={version}")
    archive = next(pathlib.Path(folder).glob("*.tar.gz"))
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


def build_extension(environment, version, cuda, jobs):
    nvidia = environment.packages / "nvidia"
    includes = [nvidia / "cudnn" / "include", nvidia / "nccl" / "include", nvidia / "cu13" / "include"]
    with tempfile.TemporaryDirectory(prefix="transformer-engine-") as scratch:
        source = source_of(environment, version, pathlib.Path(scratch))
        environment.pip("install", "--no-build-isolation", "--no-deps", str(source), NVTE_PYTORCH_FORCE_BUILD="TRUE",
                        MAX_JOBS=str(jobs), CUDA_HOME=str(cuda or nvidia / "cu13"), CUDNN_PATH=str(nvidia / "cudnn"),
                        CPATH=":".join(map(str, includes)), CXX=str(HERE / "compiler.py"), CC="cc",
                        EXTENSION_HEADER=str(source / "csrc" / "extensions.h"), EXTENSION_PRECOMPILED=scratch,
                        CCACHE_DISABLE="1")  # which would compile what compiler.py has not seen


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--fake-cuda", type=pathlib.Path, required=True, help="the build's fakecuda/cuda13")
    parser.add_argument("--like", default=sys.executable, help="a Python with PyTorch for CUDA 13")
    parser.add_argument("--version", default="2.20.2", help="of Transformer Engine")
    parser.add_argument("--cuda", type=pathlib.Path, help="a CUDA 13 toolkit, instead of NVIDIA's wheels for the headers")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    return parser.parse_args()


def main():
    wanted = arguments()
    if not (wanted.fake_cuda / "libcudart.so.13").exists():
        sys.exit(f"install.py: {wanted.fake_cuda} has no libcudart.so.13: build the target fakecuda and name its folder cuda13")
    started = time.monotonic()
    environment = Environment(wanted.folder.absolute(), wanted.like, wanted.fake_cuda.absolute())
    cuda = cuda_of_torch(environment)
    environment.install(*PACKAGES)
    environment.install(environment.required("pydantic-core", by="pydantic"))
    environment.install(f"transformer-engine=={wanted.version}", f"transformer-engine-cu13=={wanted.version}")
    environment.install(*(environment.required(name, by="torch") for name in LIBRARIES), f"nvidia-cuda-nvrtc=={cuda}.*",
                        *(() if wanted.cuda else HEADERS))
    build_extension(environment, wanted.version, wanted.cuda and wanted.cuda.absolute(), wanted.jobs)
    print(f"{environment.python}: Transformer Engine {wanted.version}, made in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
