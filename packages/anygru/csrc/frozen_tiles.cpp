// The tiles of a matrix unit in memory, on AVX2: for tests on machines without one, never chosen by itself.
#define ANYGRU_VARIANT frozen_tiles
#define ANYGRU_VECTOR_BYTES 64
#define ANYGRU_SOFT_BYTES
#include "frozen.hpp"

ANYGRU_DEFINE_FROZEN(tiles, wide, tiled_table<ANYGRU_VARIANT::PortableTiles, ANYGRU_VARIANT::LineProduct>)
