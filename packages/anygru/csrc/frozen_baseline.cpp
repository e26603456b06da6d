#define ANYGRU_VARIANT frozen_baseline
#define ANYGRU_VECTOR_BYTES 16
#include "frozen.hpp"

ANYGRU_DEFINE_FROZEN(baseline, baseline, frozen_table)
