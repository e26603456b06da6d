#define ANYGRU_VARIANT baseline
#define ANYGRU_VECTOR_BYTES 16
#include "variant.hpp"

ANYGRU_DEFINE_VARIANT(baseline)
