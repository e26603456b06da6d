#define ANYGRU_VARIANT frozen_neon_mmla
#define ANYGRU_VECTOR_BYTES 16
#include "frozen.hpp"

ANYGRU_DEFINE_FROZEN(neon_mmla, neon, tiled_table<ANYGRU_VARIANT::NoTiles, ANYGRU_VARIANT::SquareProduct>)
