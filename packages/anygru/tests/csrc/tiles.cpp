// The tiles in memory, vectors of a few rows, and the CPU's own tiles where it has them, against plain loops with the
// formula of csrc/tiles.hpp: bit by bit, with ordinary numbers, those near the ends of the range, infinities and NaN.
#define ANYGRU_VARIANT tested
#define ANYGRU_VECTOR_BYTES 64
#define ANYGRU_SOFT_BYTES
#define ANYGRU_AMX
#include "tiles.hpp"

#include <cmath>
#include <cstdio>
#include <random>

#if defined(ANYGRU_AMX)
#include <sys/syscall.h>
#include <unistd.h>
#endif

using anygru::Index;
namespace tested = anygru::tested;

namespace {

constexpr int lines = 16, columns = 16, pairs = 16;
using Half = std::uint16_t;

struct Operands {
    alignas(64) Half rows[lines][2 * pairs];
    alignas(64) Half weights[pairs][columns][2];
    alignas(64) float sums[lines][columns];
};

float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

float widened(Half half) {
    const std::uint32_t bits = std::uint32_t(half) << 16;
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return flushed(x);
}

void multiply_plainly(Operands& all) {
    for (int m = 0; m < lines; ++m)
        for (int n = 0; n < columns; ++n) {
            float even = 0, odd = 0;
            for (int k = 0; k < pairs; ++k) {
                even = flushed(std::fmaf(widened(all.rows[m][2 * k]), widened(all.weights[k][n][0]), even));
                odd = flushed(std::fmaf(widened(all.rows[m][2 * k + 1]), widened(all.weights[k][n][1]), odd));
            }
            all.sums[m][n] = flushed(flushed(all.sums[m][n]) + flushed(even + odd));
        }
}

template <class Tiles>
void multiply_tiles(Operands& all, int height) {
    Tiles tiles;
    tiles.shape(height);
    tiles.template load<0>(all.sums, 64);
    tiles.template load<tested::row_tile>(all.rows, 64);
    tiles.template load<tested::weight_tile>(all.weights, 64);
    tiles.template multiply<tested::Product::bfloats, 0>();
    tiles.template store<0>(all.sums, 64);
}

// Rows one, two or four at a time.
template <int N>
void multiply_lines(Operands& all) {
    const tested::DenormalsAreZero mode;
    for (int m = 0; m < lines; m += N) {
        const char* rows[N];
        float* sums[N];
        for (int n = 0; n < N; ++n) rows[n] = reinterpret_cast<const char*>(all.rows[m + n]), sums[n] = all.sums[m + n];
        const char* const weights = reinterpret_cast<const char*>(all.weights);
        tested::LineTile<N, 1>::run(rows, &weights, 64, sums);
    }
}

std::mt19937 generator(1);
float uniform() { return std::uniform_real_distribution<float>(-0.5f, 0.5f)(generator); }

Half random_half(int kind) {
    int exponent = 0;
    if (kind == 1) exponent = int(generator() % 60) - 30;
    if (kind == 2) exponent = int(generator() % 80) - 110;
    if (kind == 4) exponent = int(generator() % 20) + 50;
    if (kind == 3 && generator() % 300 == 0) return generator() & 1 ? 0x7f80 : Half(1 + generator() % 127);
    const float x = std::ldexp(uniform(), exponent);
    std::uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return Half(bits >> 16);
}

int differences = 0;

void compare(const char* what, int kind, const Operands& actual, const Operands& expected, int height = lines) {
    for (int m = 0; m < height; ++m)
        for (int n = 0; n < columns; ++n) {
            const float one = actual.sums[m][n], other = expected.sums[m][n];
            if ((std::isnan(one) && std::isnan(other)) || std::memcmp(&one, &other, sizeof one) == 0) continue;
            if (differences++ < 5) std::printf("%s, kind %d: %a instead of %a\n", what, kind, one, other);
        }
}

template <class Tiles>
void check(const char* what) {
    for (int kind = 0; kind < 5; ++kind)
        for (int repeat = 0; repeat < 200; ++repeat) {
            Operands all;
            for (auto& row : all.rows)
                for (Half& half : row) half = random_half(kind);
            for (auto& group : all.weights)
                for (auto& both : group)
                    for (Half& half : both) half = random_half(kind);
            for (auto& row : all.sums)
                for (float& sum : row) sum = kind == 2 ? 2e-38f * uniform() : uniform();
            Operands expected = all, tiles = all, one = all, two = all, four = all, low = all;
            multiply_plainly(expected);
            multiply_tiles<Tiles>(tiles, lines);
            multiply_tiles<Tiles>(low, 5);
            multiply_lines<1>(one), multiply_lines<2>(two), multiply_lines<4>(four);
            compare(what, kind, tiles, expected);
            compare("a low tile", kind, low, expected, 5);
            compare("one line", kind, one, expected);
            compare("two lines", kind, two, expected);
            compare("four lines", kind, four, expected);
        }
}

}  // namespace

int main() {
    check<tested::PortableTiles>("the tiles in memory");
    std::puts("tiles in memory: compared");
#if defined(ANYGRU_AMX)
    if (__builtin_cpu_supports("avx512f") && syscall(SYS_arch_prctl, 0x1023, 18) == 0) {
        check<tested::AmxTiles>("AMX");
        std::puts("AMX: compared");
    }
#endif
    return differences ? 1 : 0;
}
