#define ANYGRU_VARIANT frozen_neon
#define ANYGRU_VECTOR_BYTES 16
#include "frozen.hpp"

ANYGRU_DEFINE_FROZEN(neon, neon, frozen_table)
