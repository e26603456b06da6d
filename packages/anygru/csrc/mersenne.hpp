// The Mersenne Twister of 64 bits (M. Matsumoto, T. Nishimura, 2004), as C++ has it in `std::mt19937_64`, over a state that
// the caller keeps: dialects draw their originals' random numbers from it.
#pragma once

#include <cstdint>

namespace anygru {

constexpr int mersenne_words = 312;

// The place of a stream: its state, and the next number in it (`mersenne_words` at the end). Drawing moves both on.
struct Mersenne {
    std::uint64_t* state;
    std::int64_t position;
};

// Whether a state of zeros, which stays one, gives the same number for ever.
bool stands_still(const Mersenne& stream);

void draw_words(Mersenne& stream, std::uint64_t* out, std::int64_t count);

// From `low` up to `high`, as `std::uniform_real_distribution` of libstdc++.
template <class Real>
void draw_uniform(Mersenne& stream, Real* out, std::int64_t count, Real low, Real high);

// By the polar method, as `std::normal_distribution` of libstdc++.
template <class Real>
void draw_normal(Mersenne& stream, Real* out, std::int64_t count, Real mean, Real deviation);

}  // namespace anygru
