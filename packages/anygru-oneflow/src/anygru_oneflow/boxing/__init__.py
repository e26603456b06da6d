from . import nccl as nccl
