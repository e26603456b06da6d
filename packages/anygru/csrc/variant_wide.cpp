// The sixteen-lane tiles lowered to AVX2: for tests on machines without AVX-512, never chosen by itself.
#define ANYGRU_VARIANT wide
#define ANYGRU_VECTOR_BYTES 64
#include "variant.hpp"

ANYGRU_DEFINE_VARIANT(wide)
