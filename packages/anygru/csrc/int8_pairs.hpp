// Products of bytes with the instructions of Arm that multiply two rows with two hidden units, eight k at a time.
#pragma once

#include "int8_rows.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

#if defined(__ARM_FEATURE_MATMUL_INT8)
// M rows, an even number, times S panels of W gates: adds to sum [M][S][W][2] what even numbers of groups give, and
// returns how many groups that were.
//
// value: the upper bytes of each row, the lower ones `plane` behind; weights: the first of S panels, `stride` apart.
template <int M, int S, int W>
inline Index add_pairs(const char* const* value, Index plane, const char* weights, Index stride, Index groups,
                       Ints (&sum)[M][S][W][2]) {
    constexpr Index step = W * lanes<float> * 4;  // of a group
    int32x4_t pairs[M / 2][S][W][2][2] = {};      // of upper or lower bytes, of the first or last two units
    const Index whole = groups / 2 * 2;
    for (Index group = 0; group < whole; group += 2, weights += 2 * step) {
        int8x16_t units[S][W][2];
        for (int s = 0; s < S; ++s)
            for (int w = 0; w < W; ++w) {
                const auto* from = reinterpret_cast<const std::int32_t*>(weights + s * stride + w * lanes<float> * 4);
                const int32x4_t first = vld1q_s32(from), second = vld1q_s32(from + step / 4);
                units[s][w][0] = vreinterpretq_s8_s32(vzip1q_s32(first, second));
                units[s][w][1] = vreinterpretq_s8_s32(vzip2q_s32(first, second));
            }
        for (int m = 0; m < M; m += 2)
            for (int part = 0; part < 2; ++part) {
                const Index at = group * group_bytes + part * plane;
                const int8x16_t rows = vcombine_s8(vld1_s8(reinterpret_cast<const std::int8_t*>(value[m] + at)),
                                                   vld1_s8(reinterpret_cast<const std::int8_t*>(value[m + 1] + at)));
                for (int s = 0; s < S; ++s)
                    for (int w = 0; w < W; ++w)
                        for (int half = 0; half < 2; ++half)
                            pairs[m / 2][s][w][part][half] =
                                vmmlaq_s32(pairs[m / 2][s][w][part][half], rows, units[s][w][half]);
            }
    }
    for (int m = 0; m < M; m += 2)
        for (int s = 0; s < S; ++s)
            for (int w = 0; w < W; ++w)
                for (int part = 0; part < 2; ++part) {
                    const int32x4_t low = pairs[m / 2][s][w][part][0], high = pairs[m / 2][s][w][part][1];
                    sum[m][s][w][part] += (Ints)vcombine_s32(vget_low_s32(low), vget_low_s32(high));
                    sum[m + 1][s][w][part] += (Ints)vcombine_s32(vget_high_s32(low), vget_high_s32(high));
                }
    return whole;
}
#endif

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
