// The sixteen-lane tiles lowered to AVX2: for tests.
#define ANYGRU_VARIANT frozen_wide
#define ANYGRU_VECTOR_BYTES 64
#include "frozen.hpp"

ANYGRU_DEFINE_FROZEN(wide, wide, frozen_table)
