#define GRUS_VARIANT avx512
#define GRUS_VECTOR_BYTES 64
#include "variant.hpp"

GRUS_DEFINE_VARIANT(avx512)
