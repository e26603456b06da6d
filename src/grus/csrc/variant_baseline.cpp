#define GRUS_VARIANT baseline
#define GRUS_VECTOR_BYTES 16
#include "variant.hpp"

GRUS_DEFINE_VARIANT(baseline)
