#include <atomic>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "variants.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#endif
#elif defined(__aarch64__)
#if defined(__linux__)
#include <sys/auxv.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif
#endif

#if !defined(ANYGRU_SETS)  // a build may name others than its processor's
#if defined(__x86_64__)
#define ANYGRU_SETS "variants_x86.def"
#elif defined(__aarch64__)
#define ANYGRU_SETS "variants_arm.def"
#else
#define ANYGRU_SETS "variants_other.def"
#endif
#endif

namespace anygru {

#define ANYGRU_SET(name, chosen, executable, flags) \
    extern const Kernels name##_kernels;            \
    extern const FrozenKernels name##_frozen;
#define ANYGRU_FROZEN_SET(name, goes_with, executable, flags) extern const FrozenKernels name##_frozen;
#include ANYGRU_SETS
#undef ANYGRU_SET
#undef ANYGRU_FROZEN_SET

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
bool has_avx512_bf16() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return has_avx512() && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax & (1u << 5));
}

bool has_amx_unit() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    constexpr unsigned tiles = 1u << 24, bfloats = 1u << 22, bytes = 1u << 25;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) &&
           (edx & (tiles | bfloats | bytes)) == (tiles | bfloats | bytes);
}
// Why this process may not use Advanced Matrix Extensions, or an empty string: their registers are so large that
// a process has to ask for them, and a system or a container may refuse.
std::string ask_for_amx(bool has_unit) {
    if (!has_unit) return "this CPU has no matrix unit that is known here (AMX)";
#if defined(__linux__)
    constexpr long request_permission = 0x1023, tile_data = 18;
    if (syscall(SYS_arch_prctl, request_permission, tile_data) != 0)
        return std::string("the system refuses the registers of AMX (arch_prctl: ") + std::strerror(errno) + ")";
    return "";
#else
    return "AMX is used on Linux only";
#endif
}
const std::string& why_no_amx() {
    static const std::string reason = ask_for_amx(has_amx_unit());
    return reason;
}
bool has_amx() { return has_avx512_bf16() && __builtin_cpu_supports("avx512vnni") && why_no_amx().empty(); }
#elif defined(__aarch64__)
bool has_dot_products() {
#if defined(__linux__)
    return getauxval(AT_HWCAP) & (1ul << 20);  // HWCAP_ASIMDDP
#else
    return true;  // all of Apple's have them
#endif
}
// Of bfloat16 and of bytes.
bool has_matrix_products() {
#if defined(__linux__)
    constexpr unsigned long bytes = 1ul << 13, bfloats = 1ul << 14;  // HWCAP2_I8MM, HWCAP2_BF16
    return has_dot_products() && (getauxval(AT_HWCAP2) & (bytes | bfloats)) == (bytes | bfloats);
#elif defined(__APPLE__)
    int bytes = 0, bfloats = 0;
    std::size_t size = sizeof(int);
    if (sysctlbyname("hw.optional.arm.FEAT_I8MM", &bytes, &size, nullptr, 0) != 0) return false;
    size = sizeof(int);
    return sysctlbyname("hw.optional.arm.FEAT_BF16", &bfloats, &size, nullptr, 0) == 0 && bytes && bfloats;
#else
    return false;
#endif
}
#endif

const std::vector<Variant<Kernels>>& variants() {
#define ANYGRU_SET(name, chosen, executable, flags) {&name##_kernels, executable, chosen},
#define ANYGRU_FROZEN_SET(name, goes_with, executable, flags)
    static const std::vector<Variant<Kernels>> list = {
#include ANYGRU_SETS
    };
#undef ANYGRU_SET
#undef ANYGRU_FROZEN_SET
    return list;
}

// What a set lacks, it has from the next one that goes with the same kernels.
std::vector<Variant<FrozenKernels>> completed(std::vector<Variant<FrozenKernels>> list,
                                              std::vector<FrozenKernels>& whole) {
    for (std::size_t i = list.size(); i-- > 0;) {
        whole[i] = *list[i].kernels;
        for (std::size_t next = i + 1; next < list.size(); ++next) {
            if (!list[next].executable || std::strcmp(whole[i].kernels, whole[next].kernels) != 0) continue;
            if (!whole[i].bfloat16.forward) whole[i].bfloat16 = whole[next].bfloat16;
            if (!whole[i].int8.forward) whole[i].int8 = whole[next].int8;
        }
        list[i].kernels = &whole[i];
    }
    return list;
}

const std::vector<Variant<FrozenKernels>>& frozen_variants() {
#define ANYGRU_SET(name, chosen, executable, flags) {&name##_frozen, executable, chosen},
#define ANYGRU_FROZEN_SET(name, goes_with, executable, flags) {&name##_frozen, executable, true},
    static const std::vector<Variant<FrozenKernels>> given = {
#include ANYGRU_SETS
    };
#undef ANYGRU_SET
#undef ANYGRU_FROZEN_SET
    static std::vector<FrozenKernels> whole(given.size());
    static const std::vector<Variant<FrozenKernels>> list = completed(given, whole);
    return list;
}

template <class Table>
const Table* find(const std::vector<Variant<Table>>& list, const char* name) {
    for (const auto& variant : list)
        if (variant.executable && std::strcmp(variant.kernels->name, name) == 0) return variant.kernels;
    return nullptr;
}

// The names, null at the end.
template <class Table>
std::vector<const char*> executable(const std::vector<Variant<Table>>& list) {
    std::vector<const char*> names;
    for (const auto& variant : list)
        if (variant.executable) names.push_back(variant.kernels->name);
    names.push_back(nullptr);
    return names;
}

}  // namespace

template <>
const FormatKernels<float>& kernels_for(Precision precision) {
    const FormatKernels<float>& full = kernels().single.full;
    if (precision == Precision::highest) return full;  // without asking the system for the registers of AMX
    const FrozenKernels& own = frozen_kernels();
    const FormatKernels<float>& lower = precision == Precision::high      ? own.high
                                        : precision == Precision::float16 ? own.twice
                                                                          : own.once;
    return lower.forward ? lower : full;
}

template <>
const FormatKernels<double>& kernels_for(Precision) {
    return kernels().twice.full;
}

std::string why_no_tiles(bool assume_unit) {
    if (frozen_kernels().high.forward) return "";
#if defined(__x86_64__)
    const std::string reason = assume_unit ? ask_for_amx(true) : why_no_amx();
    if (!reason.empty()) return reason;
    return "another instruction set was chosen (ANYGRU_CPU_ISA)";
#else
    (void)assume_unit;
    return "this CPU has no matrix unit that is known here";
#endif
}

const char* const* executable_variants() {
    static const std::vector<const char*> names = executable(variants());
    return names.data();
}

const char* const* executable_frozen() {
    static const std::vector<const char*> names = executable(frozen_variants());
    return names.data();
}

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
        for (const auto& variant : variants())
            if (!chosen.load() && variant.executable && variant.chosen) chosen.store(variant.kernels);
    }
    return *chosen.load();
}

const FrozenKernels& frozen_kernels() {
    const Kernels& own = kernels();
    if (const FrozenKernels* known = chosen_frozen.load()) return *known;
    for (const auto& variant : frozen_variants())
        if (!chosen_frozen.load() && variant.executable && std::strcmp(variant.kernels->kernels, own.name) == 0)
            chosen_frozen.store(variant.kernels);
    return *chosen_frozen.load();
}

}  // namespace anygru
