#define ANYGRU_VARIANT avx2
#define ANYGRU_VECTOR_BYTES 32
#include "variant.hpp"

ANYGRU_DEFINE_VARIANT(avx2)
