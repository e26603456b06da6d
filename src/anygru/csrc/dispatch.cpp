#include <atomic>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "variants.hpp"

namespace anygru {

extern const Kernels baseline_kernels, avx2_kernels, avx512_kernels, wide_kernels, neon_kernels;

namespace {

std::atomic<const Kernels*> chosen{nullptr};

struct Variant {
    const Kernels* kernels;
    bool executable;
    bool chosen;  // by itself; otherwise only by name
};

#if defined(__x86_64__)
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_avx512() {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
}

const Variant* variants() {
    static const Variant list[] = {{&avx512_kernels, has_avx512(), true},
                                   {&avx2_kernels, has_avx2(), true},
                                   {&wide_kernels, has_avx2(), false},
                                   {&baseline_kernels, true, true},
                                   {nullptr, false, false}};
    return list;
}
#elif defined(__aarch64__)
const Variant* variants() {
    static const Variant list[] = {{&neon_kernels, true, true}, {nullptr, false, false}};
    return list;
}
#else
const Variant* variants() {
    static const Variant list[] = {{&baseline_kernels, true, true}, {nullptr, false, false}};
    return list;
}
#endif

}  // namespace

const char* const* executable_variants() {
    static const char* names[8] = {};
    if (!names[0]) {
        const char** to = names;
        for (const Variant* variant = variants(); variant->kernels; ++variant)
            if (variant->executable) *to++ = variant->kernels->name;
    }
    return names;
}

const Kernels* kernels(const char* name) {
    for (const Variant* variant = variants(); variant->kernels; ++variant)
        if (variant->executable && std::strcmp(variant->kernels->name, name) == 0) return variant->kernels;
    return nullptr;
}

void use_kernels(const char* name) {
    const Kernels* found = kernels(name);
    if (!found) {
        std::string known;
        for (const char* const* each = executable_variants(); *each; ++each)
            known += std::string(known.empty() ? "" : ", ") + *each;
        throw std::invalid_argument("the instruction set (ANYGRU_CPU_ISA) must be one of " + known +
                                    " on this machine, got " + name);
    }
    chosen.store(found);
}

const Kernels& kernels() {
    if (const Kernels* known = chosen.load()) return *known;
    const char* forced = std::getenv("ANYGRU_CPU_ISA");
    if (forced && *forced) {
        use_kernels(forced);
    } else {
        for (const Variant* variant = variants(); variant->kernels && !chosen.load(); ++variant)
            if (variant->executable && variant->chosen) chosen.store(variant->kernels);
    }
    return *chosen.load();
}

}  // namespace anygru
