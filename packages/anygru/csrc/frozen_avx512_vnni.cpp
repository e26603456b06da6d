#define ANYGRU_VARIANT frozen_avx512_vnni
#define ANYGRU_VECTOR_BYTES 64
#include "frozen.hpp"

ANYGRU_DEFINE_FROZEN(avx512_vnni, avx512, frozen_table)
