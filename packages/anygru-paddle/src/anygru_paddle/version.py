"""The version of Paddle that the dialect follows."""

full_version = "2.6.2"
major, minor, patch = full_version.split(".")
rc = "0"
istaged = True
commit = "8ce0de584c570589117e403322f3d1a0de6554e5"  # of 2.6.2
with_mkl = "ON"
cuda_version = "False"
cinn_version = xpu_version = xpu_xccl_version = "False"
cudnn_version = "False"


def show() -> None:
    """Print the version."""
    print("full_version:", full_version)


def cuda() -> str:
    """The version of CUDA that Paddle would name; 'False' for none."""
    return cuda_version


def cudnn() -> str:
    """The version of cuDNN that Paddle would name; 'False' for none."""
    return cudnn_version


def cinn() -> str:
    """The version of CINN that Paddle would name; 'False' for none."""
    return "False"


def xpu() -> str:
    """The version of XPU's library that Paddle would name; 'False' for none."""
    return "False"


xpu_xccl = xpu


def mkl() -> str:
    """Whether Paddle's build would use MKL: 'ON', as its builds for CPUs do."""
    return "ON"
