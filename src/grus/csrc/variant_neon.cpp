#define GRUS_VARIANT neon
#define GRUS_VECTOR_BYTES 16
#include "variant.hpp"

GRUS_DEFINE_VARIANT(neon)
