"""`mx.mod`: training of symbols, as MXNet had it before Gluon."""

from .bucketing_module import BucketingModule as BucketingModule
from .module import Module as Module
