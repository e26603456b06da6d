#define ANYGRU_VARIANT frozen_avx2
#define ANYGRU_VECTOR_BYTES 32
#include "frozen.hpp"

ANYGRU_DEFINE_FROZEN(avx2, avx2, frozen_table)
