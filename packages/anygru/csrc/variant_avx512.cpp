#define ANYGRU_VARIANT avx512
#define ANYGRU_VECTOR_BYTES 64
#include "variant.hpp"

ANYGRU_DEFINE_VARIANT(avx512)
