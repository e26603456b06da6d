#include <atomic>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "variants.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace anygru {

extern const Kernels baseline_kernels, avx2_kernels, avx512_kernels, wide_kernels, neon_kernels;
extern const FrozenKernels baseline_frozen, avx2_frozen, avx_vnni_frozen, avx512_frozen, avx512_vnni_frozen,
    wide_frozen, neon_frozen, neon_dot_frozen;

namespace {

std::atomic<const Kernels*> chosen{nullptr};
std::atomic<const FrozenKernels*> chosen_frozen{nullptr};

template <class Table>
struct Variant {
    const Table* kernels;
    bool executable;
    bool chosen;  // by itself; otherwise only by name
};

#if defined(__x86_64__)
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_avx512() {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
}
// Compilers of different ages know this one by name or do not.
bool has_avx_vnni() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return has_avx2() && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax & (1u << 4));
}

const Variant<Kernels>* variants() {
    static const Variant<Kernels> list[] = {{&avx512_kernels, has_avx512(), true},
                                            {&avx2_kernels, has_avx2(), true},
                                            {&wide_kernels, has_avx2(), false},
                                            {&baseline_kernels, true, true},
                                            {nullptr, false, false}};
    return list;
}

const Variant<FrozenKernels>* frozen_variants() {
    static const Variant<FrozenKernels> list[] = {
        {&avx512_vnni_frozen, has_avx512() && __builtin_cpu_supports("avx512vnni"), true},
        {&avx512_frozen, has_avx512(), true},
        {&avx_vnni_frozen, has_avx_vnni(), true},
        {&avx2_frozen, has_avx2(), true},
        {&wide_frozen, has_avx2(), true},
        {&baseline_frozen, true, true},
        {nullptr, false, false}};
    return list;
}
#elif defined(__aarch64__)
bool has_dot_products() {
#if defined(__linux__)
    return getauxval(AT_HWCAP) & (1ul << 20);  // HWCAP_ASIMDDP
#else
    return true;  // all of Apple's have them
#endif
}

const Variant<Kernels>* variants() {
    static const Variant<Kernels> list[] = {{&neon_kernels, true, true}, {nullptr, false, false}};
    return list;
}

const Variant<FrozenKernels>* frozen_variants() {
    static const Variant<FrozenKernels> list[] = {
        {&neon_dot_frozen, has_dot_products(), true}, {&neon_frozen, true, true}, {nullptr, false, false}};
    return list;
}
#else
const Variant<Kernels>* variants() {
    static const Variant<Kernels> list[] = {{&baseline_kernels, true, true}, {nullptr, false, false}};
    return list;
}

const Variant<FrozenKernels>* frozen_variants() {
    static const Variant<FrozenKernels> list[] = {{&baseline_frozen, true, true}, {nullptr, false, false}};
    return list;
}
#endif

template <class Table>
const Table* find(const Variant<Table>* variant, const char* name) {
    for (; variant->kernels; ++variant)
        if (variant->executable && std::strcmp(variant->kernels->name, name) == 0) return variant->kernels;
    return nullptr;
}

template <class Table>
const char* const* executable(const Variant<Table>* variant) {
    static const char* names[8] = {};
    if (!names[0]) {
        const char** to = names;
        for (; variant->kernels; ++variant)
            if (variant->executable) *to++ = variant->kernels->name;
    }
    return names;
}

}  // namespace

const char* const* executable_variants() { return executable(variants()); }

const char* const* executable_frozen() { return executable(frozen_variants()); }

const Kernels* kernels(const char* name) { return find(variants(), name); }

void use_kernels(const char* name) {
    const FrozenKernels* frozen = find(frozen_variants(), name);
    if (!frozen) {
        std::string known;
        for (const char* const* each = executable_frozen(); *each; ++each)
            known += std::string(known.empty() ? "" : ", ") + *each;
        throw std::invalid_argument("the instruction set (ANYGRU_CPU_ISA) must be one of " + known +
                                    " on this machine, got " + name);
    }
    chosen_frozen.store(frozen);
    chosen.store(find(variants(), frozen->kernels));
}

const Kernels& kernels() {
    if (const Kernels* known = chosen.load()) return *known;
    const char* forced = std::getenv("ANYGRU_CPU_ISA");
    if (forced && *forced) {
        use_kernels(forced);
    } else {
        for (const auto* variant = variants(); variant->kernels && !chosen.load(); ++variant)
            if (variant->executable && variant->chosen) chosen.store(variant->kernels);
    }
    return *chosen.load();
}

const FrozenKernels& frozen_kernels() {
    const Kernels& own = kernels();
    if (const FrozenKernels* known = chosen_frozen.load()) return *known;
    for (const auto* variant = frozen_variants(); variant->kernels && !chosen_frozen.load(); ++variant)
        if (variant->executable && std::strcmp(variant->kernels->kernels, own.name) == 0)
            chosen_frozen.store(variant->kernels);
    return *chosen_frozen.load();
}

}  // namespace anygru
