#include <algorithm>
#include <memory>

#include "engine.hpp"
#include "variants.hpp"

namespace anygru {

namespace {

template <class Real>
const FormatKernels<Real>& kernels_for(Storage storage) {
    if constexpr (sizeof(Real) == sizeof(float)) {
        const bool rounds = storage == Storage::bfloat16_rows;
        if (rounds && frozen_kernels().once.forward) return frozen_kernels().once;
        if (rounds || storage == Storage::bfloat16) return frozen_kernels().bfloat16;
        if (storage == Storage::int8) return frozen_kernels().int8;
    }
    return kernels().of<Real>().full;
}

// What the kernels that pack and unpack look at.
template <class Real>
Forward<Real> one_direction(const Shape& shape, Index place, Terms terms) {
    Forward<Real> call{};
    call.terms = terms;
    call.input_size = shape.layer_input(int(place) / shape.directions);
    call.hidden = shape.hidden;
    call.reset_before = shape.reset_before;
    call.packs_input = true;
    return call;
}

}  // namespace

template <class Real>
Packed<Real>* pack(const Shape& shape, Storage storage, const std::vector<const Real*>& weights,
                   const std::vector<const float*>& scales) {
    const Index lanes = kernels().of<Real>().lanes, blocks = (shape.hidden + lanes - 1) / lanes;
    const Index places = Index(shape.layers) * shape.directions;
    auto result = std::make_unique<Packed<Real>>();
    result->variant = variant_in_use();
    result->format = &kernels_for<Real>(storage);
    result->shape = shape;
    result->shape.sizes = nullptr;  // of the call that packs: its memory may be gone when another one computes
    const auto lay_out = [&](Parts& parts) {
        result->panels.clear();
        result->biases.clear();
        result->gains.clear();
        for (Index place = 0; place < places; ++place) {
            const Index bytes = result->format->packed_bytes(one_direction<Real>(shape, place, result->format->terms));
            result->panels.push_back(parts.take<Real>((bytes + Index(sizeof(Real)) - 1) / Index(sizeof(Real))));
            result->biases.push_back(parts.take<Real>(blocks * 4 * lanes));
            result->gains.push_back(shape.norm ? parts.take<Real>(6 * shape.hidden) : nullptr);
        }
    };
    Parts dry;
    lay_out(dry);
    Parts parts(result->memory.reserve(dry.used()));
    lay_out(parts);
    for (Index place = 0; place < places; ++place) {
        const Real* const* given = weights.data() + place * shape.weights_a_direction();
        Forward<Real> call = one_direction<Real>(shape, place, result->format->terms);
        call.weight_ih = given[0];
        call.weight_hh = given[1];
        call.scale_ih = storage == Storage::int8 ? scales[std::size_t(2 * place)] : nullptr;
        call.scale_hh = storage == Storage::int8 ? scales[std::size_t(2 * place + 1)] : nullptr;
        call.bias_ih = shape.bias ? given[2] : nullptr;
        call.bias_hh = shape.bias ? given[3] : nullptr;
        call.packed = result->panels[std::size_t(place)];
        call.bias = result->biases[std::size_t(place)];
        result->format->pack(call, 0, blocks);
        for (int side = 0; shape.norm && side < 2; ++side)
            std::copy_n(given[shape.weights_a_direction() - 2 + side], 3 * shape.hidden,
                        result->gains[std::size_t(place)] + side * 3 * shape.hidden);
    }
    return result.release();
}

template <class Real>
void unpack(const Packed<Real>& packed, Index place, void* weight_ih, void* weight_hh, float* scale_ih,
            float* scale_hh) {
    Forward<Real> call = one_direction<Real>(packed.shape, place, packed.format->terms);
    call.packed = packed.panels[std::size_t(place)];
    packed.format->unpack(call, weight_ih, weight_hh, scale_ih, scale_hh);
}

template Packed<float>* pack(const Shape&, Storage, const std::vector<const float*>&, const std::vector<const float*>&);
template Packed<double>* pack(const Shape&, Storage, const std::vector<const double*>&,
                              const std::vector<const float*>&);
template void unpack(const Packed<float>&, Index, void*, void*, float*, float*);
template void unpack(const Packed<double>&, Index, void*, void*, float*, float*);

}  // namespace anygru
