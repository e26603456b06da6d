// The Mersenne Twister of 64 bits (M. Matsumoto, T. Nishimura, 2004), as C++ has it in `std::mt19937_64`, over a state that
// the caller keeps: dialects draw their originals' random numbers from it. Products and sums stand apart, so that no compiler
// fuses them.
#pragma once

#include <cmath>
#include <cstdint>

namespace anygru {

constexpr int mersenne_words = 312;

class Mersenne {
public:
    Mersenne(std::uint64_t* state, std::int64_t position) : state_(state), position_(position) {}

    // The place of the next number in the state.
    std::int64_t position() const { return position_; }

    std::uint64_t word() {
        if (position_ == mersenne_words) refill();
        std::uint64_t x = state_[position_++];
        x ^= (x >> 29) & 0x5555555555555555u;
        x ^= (x << 17) & 0x71D67FFFEDA60000u;
        x ^= (x << 37) & 0xFFF7EEE000000000u;
        return x ^ (x >> 43);
    }

    // From 0 up to, not including, 1, as `std::generate_canonical` of libstdc++.
    template <class Real>
    Real canonical() {
        const Real value = Real(word()) / Real(18446744073709551616.0);
        return value < Real(1) ? value : std::nextafter(Real(1), Real(0));
    }

    // Normal numbers by the polar method, as `std::normal_distribution` of libstdc++.
    template <class Real>
    void normal(Real* out, std::int64_t count, Real mean, Real deviation) {
        for (std::int64_t i = 0; i < count; i += 2) {
            Real x, y, squared;
            do {
                x = Real(2) * canonical<Real>() - Real(1);
                y = Real(2) * canonical<Real>() - Real(1);
                const Real xx = x * x, yy = y * y;
                squared = xx + yy;
            } while (squared > Real(1) || squared == Real(0));
            const Real factor = std::sqrt(Real(-2) * std::log(squared) / squared);
            const Real first = y * factor * deviation, second = x * factor * deviation;
            out[i] = first + mean;
            if (i + 1 < count) out[i + 1] = second + mean;
        }
    }

    template <class Real>
    void uniform(Real* out, std::int64_t count, Real low, Real high) {
        const Real width = high - low;
        for (std::int64_t i = 0; i < count; ++i) {
            const Real wide = canonical<Real>() * width;
            out[i] = wide + low;
        }
    }

private:
    void refill() {
        constexpr int half = mersenne_words / 2;
        for (int k = 0; k < half; ++k) twist(k, k + 1, k + half);
        for (int k = half; k < mersenne_words - 1; ++k) twist(k, k + 1, k - half);
        twist(mersenne_words - 1, 0, half - 1);
        position_ = 0;
    }

    void twist(int k, int following, int far) {
        const std::uint64_t joined = (state_[k] & 0xFFFFFFFF80000000u) | (state_[following] & 0x7FFFFFFFu);
        state_[k] = state_[far] ^ (joined >> 1) ^ (0xB5026F5AA96619E9u & (0 - (joined & 1)));
    }

    std::uint64_t* state_;
    std::int64_t position_;
};

}  // namespace anygru
