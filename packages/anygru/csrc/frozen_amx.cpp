#define ANYGRU_VARIANT frozen_amx
#define ANYGRU_VECTOR_BYTES 64
#define ANYGRU_AMX
#include "frozen.hpp"

ANYGRU_DEFINE_FROZEN(amx, avx512, tiled_table<ANYGRU_VARIANT::AmxTiles, ANYGRU_VARIANT::LineProduct>)
