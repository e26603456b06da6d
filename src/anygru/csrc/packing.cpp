#include <algorithm>
#include <memory>

#include "engine.hpp"
#include "variants.hpp"

namespace anygru {

template <class Real>
Packed<Real>* pack(const Shape& shape, const std::vector<const Real*>& weights) {
    const KernelsOf<Real>& variant = kernels().of<Real>();
    const Index blocks = (shape.hidden + variant.lanes - 1) / variant.lanes;
    auto result = std::make_unique<Packed<Real>>();
    result->variant = variant_in_use();
    result->shape = shape;
    const auto lay_out = [&](Parts& parts) {
        result->panels.clear();
        result->biases.clear();
        result->gains.clear();
        for (int layer = 0; layer < shape.layers; ++layer)
            for (int direction = 0; direction < shape.directions; ++direction) {
                result->panels.push_back(
                    parts.take<Real>(blocks * 3 * variant.lanes * (shape.layer_input(layer) + shape.hidden)));
                result->biases.push_back(parts.take<Real>(blocks * 4 * variant.lanes));
                result->gains.push_back(shape.norm ? parts.take<Real>(6 * shape.hidden) : nullptr);
            }
    };
    Parts dry;
    lay_out(dry);
    Parts parts(result->memory.reserve(dry.used()));
    lay_out(parts);
    for (std::size_t place = 0; place < result->panels.size(); ++place) {
        const Real* const* given = weights.data() + place * shape.weights_a_direction();
        Forward<Real> call{};
        call.input_size = shape.layer_input(int(place) / shape.directions);
        call.hidden = shape.hidden;
        call.reset_before = shape.reset_before;
        call.weight_ih = given[0];
        call.weight_hh = given[1];
        call.bias_ih = shape.bias ? given[2] : nullptr;
        call.bias_hh = shape.bias ? given[3] : nullptr;
        call.packed = result->panels[place];
        call.packs_input = true;
        call.bias = result->biases[place];
        variant.pack(call, 0, blocks);
        for (int side = 0; shape.norm && side < 2; ++side)
            std::copy_n(given[shape.weights_a_direction() - 2 + side], 3 * shape.hidden,
                        result->gains[place] + side * 3 * shape.hidden);
    }
    return result.release();
}

template Packed<float>* pack(const Shape&, const std::vector<const float*>&);
template Packed<double>* pack(const Shape&, const std::vector<const double*>&);

}  // namespace anygru
