"""`paddle.optimizer`."""

from . import lr as lr
from .adadelta import Adadelta as Adadelta
from .adagrad import Adagrad as Adagrad
from .adam import Adam as Adam
from .adamax import Adamax as Adamax
from .adamw import AdamW as AdamW
from .lamb import Lamb as Lamb
from .momentum import Momentum as Momentum
from .optimizer import Optimizer as Optimizer
from .rmsprop import RMSProp as RMSProp
from .sgd import SGD as SGD
