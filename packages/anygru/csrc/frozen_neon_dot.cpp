#define ANYGRU_VARIANT frozen_neon_dot
#define ANYGRU_VECTOR_BYTES 16
#include "frozen.hpp"

ANYGRU_DEFINE_FROZEN(neon_dot, neon, frozen_table)
