#define ANYGRU_VARIANT frozen_amx
#define ANYGRU_VECTOR_BYTES 64
#include "frozen.hpp"

ANYGRU_DEFINE_FROZEN(amx, avx512, tiled_table<ANYGRU_VARIANT::AmxTiles>)
