// The compiled variants, and the choice among them at run time.
#pragma once

#include "call.hpp"

namespace grus {

// The best variant that this CPU executes. GRUS_CPU_ISA=name forces one; a name that is unknown or that the CPU cannot
// execute throws std::runtime_error with the names that would do.
const Kernels& kernels();

// The same for a name, or null where the CPU cannot execute it or it was not compiled.
const Kernels* kernels(const char* name);

// Names of the variants that this CPU executes, best first, null at the end.
const char* const* executable_variants();

}  // namespace grus
