#define ANYGRU_VARIANT frozen_avx512_bf16
#define ANYGRU_VECTOR_BYTES 64
#include "frozen.hpp"

ANYGRU_DEFINE_FROZEN(avx512_bf16, avx512, half_table<ANYGRU_VARIANT::PairProduct>)
