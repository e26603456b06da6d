#define ANYGRU_VARIANT frozen_avx_vnni
#define ANYGRU_VECTOR_BYTES 32
#include "frozen.hpp"

ANYGRU_DEFINE_FROZEN(avx_vnni, avx2, frozen_table)
