// What one core with AVX-512 can do: instructions in registers, and reading memory again and again; with AMX also
// products of tiles. Each function returns seconds. `frozen_limits.py` compiles and calls them.
#include <immintrin.h>

#include <chrono>

namespace {

constexpr int count = 24;  // as many sums as the tiles of the kernels keep

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

volatile float sink;

void keep(__m512 value) { sink = _mm512_reduce_add_ps(value); }

}  // namespace

// 24 multiply-adds of sixteen floats each, `turns` times.
extern "C" double multiply_adds(long turns) {
    volatile float one = 1;
    const __m512 x = _mm512_set1_ps(one), y = _mm512_set1_ps(one);
    __m512 sums[count];
#pragma GCC unroll 24
    for (int i = 0; i < count; ++i) sums[i] = _mm512_set1_ps(float(i));
    const double start = now();
    for (long turn = 0; turn < turns; ++turn)
#pragma GCC unroll 24
        for (int i = 0; i < count; ++i) {
            sums[i] = _mm512_fmadd_ps(x, y, sums[i]);
            asm volatile("" : "+v"(sums[i]));  // neither left out nor joined with others
        }
    const double seconds = now() - start;
#pragma GCC unroll 24
    for (int i = 0; i < count; ++i) keep(sums[i]);
    return seconds;
}

// 24 times 64 products of bytes, `turns` times.
extern "C" double byte_products(long turns) {
    volatile char one = 1;
    const __m512i x = _mm512_set1_epi8(one), y = _mm512_set1_epi8(one);
    __m512i sums[count];
#pragma GCC unroll 24
    for (int i = 0; i < count; ++i) sums[i] = _mm512_set1_epi32(i);
    const double start = now();
    for (long turn = 0; turn < turns; ++turn)
#pragma GCC unroll 24
        for (int i = 0; i < count; ++i) {
            sums[i] = _mm512_dpbusd_epi32(sums[i], x, y);
            asm volatile("" : "+v"(sums[i]));
        }
    const double seconds = now() - start;
#pragma GCC unroll 24
    for (int i = 0; i < count; ++i) keep(_mm512_castsi512_ps(sums[i]));
    return seconds;
}

#if defined(__AMX_BF16__)
// Six products of tiles, of 16 rows, 16 columns and 32 k in bfloat16 each, `turns` times. Those of bytes take as long and
// have 64 k. The process has asked for the registers.
extern "C" double tile_products(long turns) {
    struct {
        unsigned char palette = 1, start = 0, reserved[14] = {};
        unsigned short bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
        unsigned char rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    } config;
    _tile_loadconfig(&config);
    const double start = now();
    for (long turn = 0; turn < turns; ++turn) {
        _tile_dpbf16ps(0, 6, 7);
        _tile_dpbf16ps(1, 6, 7);
        _tile_dpbf16ps(2, 6, 7);
        _tile_dpbf16ps(3, 6, 7);
        _tile_dpbf16ps(4, 6, 7);
        _tile_dpbf16ps(5, 6, 7);
    }
    const double seconds = now() - start;
    _tile_release();
    return seconds;
}
#endif

// Reads `bytes`, a multiple of 512, from the first to the last and then back: the part that was read last is still in
// the nearer caches.
extern "C" double reading(const char* from, long bytes) {
    __m512 sums[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) sums[i] = _mm512_setzero_ps();
    const double start = now();
    for (int back = 0; back < 2; ++back)
        for (long at = 0; at < bytes; at += 512) {
            const char* const line = from + (back ? bytes - 512 - at : at);
#pragma GCC unroll 8
            for (int i = 0; i < 8; ++i) sums[i] = _mm512_add_ps(sums[i], _mm512_loadu_ps(line + i * 64));
        }
    const double seconds = now() - start;
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) keep(sums[i]);
    return seconds;
}
