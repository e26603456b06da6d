#define ANYGRU_VARIANT neon
#define ANYGRU_VECTOR_BYTES 16
#include "variant.hpp"

ANYGRU_DEFINE_VARIANT(neon)
