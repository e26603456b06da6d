// Compiled with -O3, so that the loops over the state become vector instructions, and without fused products and sums, so
// that numbers do not depend on the compiler.
#include "mersenne.hpp"

#include <cmath>

namespace anygru {
namespace {

void twist(std::uint64_t* state, int k, int following, int far) {
    const std::uint64_t joined = (state[k] & 0xFFFFFFFF80000000u) | (state[following] & 0x7FFFFFFFu);
    state[k] = state[far] ^ (joined >> 1) ^ (0xB5026F5AA96619E9u & (0 - (joined & 1)));
}

void refill(std::uint64_t* state) {
    constexpr int half = mersenne_words / 2;
    for (int k = 0; k < half; ++k) twist(state, k, k + 1, k + half);
    for (int k = half; k < mersenne_words - 1; ++k) twist(state, k, k + 1, k - half);
    twist(state, mersenne_words - 1, 0, half - 1);
}

std::uint64_t tempered(std::uint64_t x) {
    x ^= (x >> 29) & 0x5555555555555555u;
    x ^= (x << 17) & 0x71D67FFFEDA60000u;
    x ^= (x << 37) & 0xFFF7EEE000000000u;
    return x ^ (x >> 43);
}

// A 64-bit number as a fraction of 2^64, rounded once, as `std::generate_canonical` of libstdc++ gives it.
// Processors convert signed numbers. Half the number fits; the bit that it loses is kept in its last one, where it counts for
// the rounding and for nothing else unless the number is so small that all its digits fit.
template <class Real>
Real fraction(std::uint64_t x) {
    constexpr std::uint64_t small = std::uint64_t(1) << 56;
    const Real half = Real(static_cast<std::int64_t>((x >> 1) | (x & 1)));
    const Real value = __builtin_expect(x < small, 0) ? Real(x) / Real(18446744073709551616.0)
                                                      : half / Real(9223372036854775808.0);
    return value < Real(1) ? value : std::nextafter(Real(1), Real(0));
}

// The numbers of a stream one by one. They are tempered a state at a time.
class Numbers {
public:
    explicit Numbers(Mersenne& stream) : stream_(stream), place_(stream.position) { temper(); }
    ~Numbers() { stream_.position = place_; }

    std::uint64_t next() {
        if (place_ == mersenne_words) {
            refill(stream_.state);
            place_ = 0;
            temper();
        }
        return ready_[place_++];
    }

private:
    void temper() {
        for (std::int64_t k = place_; k < mersenne_words; ++k) ready_[k] = tempered(stream_.state[k]);
    }

    Mersenne& stream_;
    std::int64_t place_;
    std::uint64_t ready_[mersenne_words];
};

}  // namespace

bool stands_still(const Mersenne& stream) {
    std::uint64_t bits = stream.state[0] & 0xFFFFFFFF80000000u;  // the others of the first word are never read
    for (int k = 1; k < mersenne_words; ++k) bits |= stream.state[k];
    return bits == 0;
}

void draw_words(Mersenne& stream, std::uint64_t* out, std::int64_t count) {
    Numbers numbers(stream);
    for (std::int64_t i = 0; i < count; ++i) out[i] = numbers.next();
}

template <class Real>
void draw_uniform(Mersenne& stream, Real* out, std::int64_t count, Real low, Real high) {
    Numbers numbers(stream);
    const Real width = high - low;
    for (std::int64_t i = 0; i < count; ++i) {
        const Real wide = fraction<Real>(numbers.next()) * width;
        out[i] = wide + low;
    }
}

template <class Real>
void draw_normal(Mersenne& stream, Real* out, std::int64_t count, Real mean, Real deviation) {
    Numbers numbers(stream);
    for (std::int64_t i = 0; i < count; i += 2) {
        Real x, y, squared;
        do {
            x = Real(2) * fraction<Real>(numbers.next()) - Real(1);
            y = Real(2) * fraction<Real>(numbers.next()) - Real(1);
            const Real xx = x * x, yy = y * y;
            squared = xx + yy;
        } while (squared > Real(1) || squared == Real(0));
        const Real factor = std::sqrt(Real(-2) * std::log(squared) / squared);
        const Real first = y * factor * deviation, second = x * factor * deviation;
        out[i] = first + mean;
        if (i + 1 < count) out[i + 1] = second + mean;
    }
}

template void draw_uniform<float>(Mersenne&, float*, std::int64_t, float, float);
template void draw_uniform<double>(Mersenne&, double*, std::int64_t, double, double);
template void draw_normal<float>(Mersenne&, float*, std::int64_t, float, float);
template void draw_normal<double>(Mersenne&, double*, std::int64_t, double, double);

}  // namespace anygru
