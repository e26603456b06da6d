// What one core with AVX-512 can do: instructions in registers, and reading memory again and again. Each function
// returns seconds. `frozen_limits.py` compiles and calls them.
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
