"""The features of this build, under the names of MXNet's features."""

from typing import NamedTuple

import torch

__all__ = ["Feature", "Features", "feature_list"]

# The features of MXNet 1.9.1, in its order. `_enabled` checks the features that depend on the machine.
_NAMES = [
    "CUDA", "CUDNN", "NCCL", "CUDA_RTC", "TENSORRT", "CPU_SSE", "CPU_SSE2", "CPU_SSE3", "CPU_SSE4_1",
    "CPU_SSE4_2", "CPU_SSE4A", "CPU_AVX", "CPU_AVX2", "OPENMP", "SSE", "F16C", "JEMALLOC", "BLAS_OPEN",
    "BLAS_ATLAS", "BLAS_MKL", "BLAS_APPLE", "LAPACK", "MKLDNN", "OPENCV", "CAFFE", "PROFILER", "DIST_KVSTORE",
    "CXX14", "INT64_TENSOR_SIZE", "SIGNAL_HANDLER", "DEBUG", "TVM_OP",
]  # fmt: skip


class Feature(NamedTuple):
    """A feature, and whether it is enabled."""

    name: str
    enabled: bool

    def __repr__(self) -> str:
        return f"{'✔' if self.enabled else '✖'} {self.name}"


def _enabled() -> set[str]:
    asked = {
        "CUDA": torch.cuda.is_available(),
        "CUDNN": torch.backends.cudnn.is_available(),
        "NCCL": torch.distributed.is_available() and torch.distributed.is_nccl_available(),
        "OPENMP": torch.backends.openmp.is_available(),
        "BLAS_MKL": torch.backends.mkl.is_available(),
        "MKLDNN": torch.backends.mkldnn.is_available(),
        "DIST_KVSTORE": torch.distributed.is_available(),
    }
    return {name for name, there in asked.items() if there} | {"LAPACK", "INT64_TENSOR_SIZE"}


def feature_list() -> list[Feature]:
    """All features."""
    enabled = _enabled()
    return [Feature(name, name in enabled) for name in _NAMES]


class Features(dict[str, Feature]):
    """The features by name."""

    def __init__(self) -> None:
        super().__init__((feature.name, feature) for feature in feature_list())

    def __repr__(self) -> str:
        return str(list(self.values()))

    def is_enabled(self, feature_name: str) -> bool:
        """Whether a feature is enabled. Lower case is allowed.

        Raises:
            RuntimeError: for a name that MXNet does not have.
        """
        name = feature_name.upper()
        if name not in self:
            raise RuntimeError(f"Feature '{name}' is unknown, known features are: {list(self)}")
        return self[name].enabled
