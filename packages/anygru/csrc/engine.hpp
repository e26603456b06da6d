// A whole call: layers and directions, dealt out to threads.
#pragma once

#include <cstddef>
#include <vector>

#include "call.hpp"
#include "workspace.hpp"

namespace anygru {

// Sizes that every part of a call shares.
struct Shape {
    Index steps, batch, rows;  // T, B, and rows of the input: T * B, or the sum of the sizes
    Index input_size, hidden;  // I, H
    int layers;
    int directions;  // of a layer; with groups each direction counts once for every group
    bool bias;
    bool reset_before;
    bool norm;           // layer norm; its gains follow the weights of a direction
    bool reverse;        // the only direction reads from the last step to the first
    const Index* sizes;  // ragged: [T]; dense: null
    Precision precision;
    Activations activations;
    // Groups of hidden units with weights of their own, which read no other group's state; `hidden` is that of one.
    int groups = 1;
    bool splits_input = false;  // a group reads its own part of the input, too

    bool is_reverse(int direction) const { return reverse || direction / groups == 1; }
    int weights_a_direction() const { return (bias ? 4 : 2) + (norm ? 2 : 0); }
    // Features that a direction reads.
    Index layer_input(int layer) const {
        return (layer == 0 ? input_size : directions * hidden) / (splits_input ? groups : 1);
    }
    // The first of them in a row of the input.
    Index input_at(int layer, int direction) const {
        return splits_input ? direction % groups * layer_input(layer) : 0;
    }
    Index state_stride() const { return groups * hidden; }
    // Where the states of a direction of a layer begin in [layers * directions / groups, B, groups * H].
    Index state_at(Index place) const { return place / groups * batch * state_stride() + place % groups * hidden; }
};

// How packed weights are stored.
// bfloat16_rows: bfloat16 weights and rows rounded to bfloat16, where there are such products; elsewhere as bfloat16.
enum class Storage { full, bfloat16, bfloat16_rows, int8 };

// Weights packed once, for a stream or a frozen layer that calls with the same ones again and again.
template <class Real>
struct Packed {
    const void* variant;  // the kernels that it was packed for
    const FormatKernels<Real>* format;
    Shape shape;
    std::vector<Real*> panels;  // [layers * directions]
    std::vector<Real*> biases;
    std::vector<Real*> gains;  // [2, 3H] of each, with layer norm
    Workspace memory;
};

// See Factors; one for each direction of each layer, or a single one for all of them.
template <class Real>
struct StateFactors {
    const Real* data;
    Index width;
    bool shared;

    Factors<Real> of(Index place, Index rows) const {
        return {data && !shared ? data + place * rows * width : data, width};
    }
};

// See Modifiers, of all directions of all layers.
template <class Real>
struct StateModifiers {
    StateFactors<Real> decay, candidate, zoneout;
    const Real* mask;  // as the states, or null
    StateFactors<Real> offset;

    Modifiers<Real> of(Index place, const Shape& shape) const {
        return {decay.of(place, shape.rows), candidate.of(place, shape.rows), zoneout.of(place, shape.rows),
                mask ? mask + shape.state_at(place) : nullptr, offset.of(place, shape.rows)};
    }
};

template <class Real>
struct ForwardArguments {
    Shape shape;
    StateModifiers<Real> modifiers;
    Rows<const Real> input;
    const Real* h_0;  // [layers * directions, B, H], see Shape::state_at, or null: zero
    const Index* state_rows;  // [B]; null with a row stride of 0: h_0 and h_n have the form above
    Index state_row_stride;   // otherwise they are [rows, layers * directions, H] with this stride, and these rows take part
    std::vector<const Real*> weights;
    bool halves;        // the matrices among them are bfloat16 at these addresses; Precision::highest only
    Rows<Real> output;  // directions * H values a row
    Real* h_n;
    Real* reserve;               // see reserve_size; null: inference
    const Packed<Real>* packed;  // or null
    int threads;
};

template <class Real>
struct BackwardArguments {
    StateModifiers<Real> modifiers;
    Real* grad_decay;                // [directions, rows, H] or null
    Real* grad_offset;               // [directions, rows, H] or null
    std::vector<const Real*> gains;  // [directions, 2] of a layer norm
    const Real* norm_kept;           // [directions, rows, norm_width]
    Real* grad_norms;                // [directions, tiles, 4, 3H]
    Shape shape;                     // of one layer
    Rows<const Real> grad_output;    // data null: zero
    const Real* grad_h_n;            // [directions, B, H] or null
    Rows<const Real> output;
    const Real* h_0;
    const Real* kept;                     // [directions, rows, 4, H]
    std::vector<const Real*> weights_hh;  // [directions]
    Real* grad_gates;                     // [directions, rows, gate_columns, H]
    Real* previous;                       // [directions, rows, H] or null
    Real* grad_h_0;                       // [directions, B, H]
    bool multiplies_last = true;          // see Backward
    Real clipping = 0;                    // see Backward
    int threads;
};

// Values that a forward pass keeps: [layers, directions, rows, 4, H], then the outputs of all layers but the last,
// [layers - 1, rows, directions * H], then with layer norm [layers, directions, rows, norm_width].
Index reserve_size(const Shape& shape);

template <class Real>
void forward(const ForwardArguments<Real>& arguments);

template <class Real>
void backward(const BackwardArguments<Real>& arguments);

// Gradients of weights, biases and input from those of the gates; of the input, in one thread and for few rows.
template <class Real>
void gradients(Gradients<Real> arguments, int threads);

// The kernels in use, to be compared with Packed::variant.
const void* variant_in_use();

// weights: of int8, the addresses of those and of the scales, [layers * directions, 2]; bfloat16 are given as float32
// that they hold exactly. Both are for float32 only.
template <class Real>
Packed<Real>* pack(const Shape& shape, Storage storage, const std::vector<const Real*>& weights,
                   const std::vector<const float*>& scales);

// The matrices of one layer and direction, in the type of the storage, and scales of int8 ones, as they were packed.
template <class Real>
void unpack(const Packed<Real>& packed, Index place, void* weight_ih, void* weight_hh, float* scale_ih,
            float* scale_hh);

}  // namespace anygru
