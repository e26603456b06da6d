#define ANYGRU_VARIANT frozen_amx
#define ANYGRU_VECTOR_BYTES 64
#include "frozen.hpp"

ANYGRU_DEFINE_TILED(amx, avx512, AmxTiles)
