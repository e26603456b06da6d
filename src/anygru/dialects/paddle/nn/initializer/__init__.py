"""`paddle.nn.initializer`."""

from .assign import Assign as Assign
from .assign import NumpyArrayInitializer as NumpyArrayInitializer
from .constant import Constant as Constant
from .constant import ConstantInitializer as ConstantInitializer
from .initializer import Initializer as Initializer
from .initializer import calculate_gain as calculate_gain
from .initializer import set_global_initializer as set_global_initializer
from .kaiming import KaimingNormal as KaimingNormal
from .kaiming import KaimingUniform as KaimingUniform
from .kaiming import MSRAInitializer as MSRAInitializer
from .normal import Normal as Normal
from .normal import NormalInitializer as NormalInitializer
from .normal import TruncatedNormal as TruncatedNormal
from .normal import TruncatedNormalInitializer as TruncatedNormalInitializer
from .orthogonal import Orthogonal as Orthogonal
from .uniform import Uniform as Uniform
from .uniform import UniformInitializer as UniformInitializer
from .xavier import XavierInitializer as XavierInitializer
from .xavier import XavierNormal as XavierNormal
from .xavier import XavierUniform as XavierUniform
