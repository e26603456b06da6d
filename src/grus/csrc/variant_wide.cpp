// The sixteen-lane tiles lowered to AVX2: for tests on machines without AVX-512, never chosen by itself.
#define GRUS_VARIANT wide
#define GRUS_VECTOR_BYTES 64
#include "variant.hpp"

GRUS_DEFINE_VARIANT(wide)
