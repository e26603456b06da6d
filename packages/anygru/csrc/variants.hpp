// The compiled variants, and the choice among them at run time.
#pragma once

#include <string>

#include "call.hpp"

namespace anygru {

// The variant in use: the best that this CPU executes, or the one that ANYGRU_CPU_ISA names when this is first called.
// A name that is unknown or that the CPU cannot execute throws std::invalid_argument with the names that would do.
const Kernels& kernels();

// Those of frozen layers that go with the variant in use: the best that this CPU executes, or the ones that were named.
const FrozenKernels& frozen_kernels();

// The forward kernels for a precision: those of `kernels()` where the ones in use have none for it, and in float64.
template <class Real>
const FormatKernels<Real>& kernels_for(Precision precision);
template <>
const FormatKernels<float>& kernels_for(Precision precision);
template <>
const FormatKernels<double>& kernels_for(Precision precision);

// Why no matrix unit is used, or an empty string. assume_unit: asks the system as on a CPU that has one, for tests.
std::string why_no_tiles(bool assume_unit);

// From now on this one; throws as above. A name of frozen kernels stands for the variant that they go with, too; that
// of a variant for the frozen kernels of the same name, which use no more instructions.
void use_kernels(const char* name);

// The same for a name, or null where the CPU cannot execute it or it was not compiled.
const Kernels* kernels(const char* name);

// Names of the variants that this CPU executes, best first, null at the end.
const char* const* executable_variants();

// Names of the kernels for frozen layers that this CPU executes, likewise.
const char* const* executable_frozen();

}  // namespace anygru
