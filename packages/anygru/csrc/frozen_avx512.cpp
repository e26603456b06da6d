#define ANYGRU_VARIANT frozen_avx512
#define ANYGRU_VECTOR_BYTES 64
#include "frozen.hpp"

ANYGRU_DEFINE_FROZEN(avx512, avx512, frozen_table)
