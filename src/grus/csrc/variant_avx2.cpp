#define GRUS_VARIANT avx2
#define GRUS_VECTOR_BYTES 32
#include "variant.hpp"

GRUS_DEFINE_VARIANT(avx2)
