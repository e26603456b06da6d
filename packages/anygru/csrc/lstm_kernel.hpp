// Steps of LSTM units, of which each has its four sums side by side, as Chainer's have: candidate, input gate, forget
// gate, output gate. Only what is done unit by unit: the products are the caller's.
//
// With a, i, f, o the activated sums:  c' = a i + f c,  h = o tanh(c').
#pragma once

#include "activations.hpp"
#include "call.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

template <class Real>
struct LstmUnits {
    static constexpr Index L = lanes<Real>;

    Vector<Real> candidate, enters, stays, leaves;

    // Of the first `count` units, or as many as a vector has.
    LstmUnits(const Real* sums, Index count) {
        Real apart[4][L] = {};
        for (Index unit = 0; unit < (count < L ? count : L); ++unit)
            for (int part = 0; part < 4; ++part) apart[part][unit] = sums[4 * unit + part];
        candidate = tanh<Real>(load(apart[0]));
        enters = sigmoid<Real>(load(apart[1]));
        stays = sigmoid<Real>(load(apart[2]));
        leaves = sigmoid<Real>(load(apart[3]));
    }
};

template <class Real>
void lstm(const LstmStep<Real>& call) {
    for (Index at = 0; at < call.units; at += lanes<Real>) {
        const Index left = call.units - at;
        const LstmUnits<Real> unit(call.sums + 4 * at, left);
        const Vector<Real> cell = fused(unit.stays, load(call.c + at, left), unit.candidate * unit.enters);
        store(call.cells + at, cell, left);
        store(call.output + at, unit.leaves * tanh<Real>(cell), left);
    }
}

template <class Real>
void lstm_gradients(const LstmStep<Real>& call) {
    constexpr Index L = lanes<Real>;
    const Vector<Real> one = broadcast<Real>(Real(1));
    for (Index at = 0; at < call.units; at += L) {
        const Index left = call.units - at;
        const LstmUnits<Real> unit(call.sums + 4 * at, left);
        const Vector<Real> squashed = tanh<Real>(load<Real>(call.cells + at, left));
        const Vector<Real> of_output = call.grad_output ? load(call.grad_output + at, left) : Vector<Real>{};
        Vector<Real> g = of_output * unit.leaves * (one - squashed * squashed);
        if (call.grad_cells) g += load(call.grad_cells + at, left);
        Real apart[4][L];
        store(apart[0], g * unit.enters * (one - unit.candidate * unit.candidate));
        store(apart[1], g * unit.candidate * unit.enters * (one - unit.enters));
        store(apart[2], g * load(call.c + at, left) * unit.stays * (one - unit.stays));
        store(apart[3], of_output * squashed * unit.leaves * (one - unit.leaves));
        for (Index unit = 0; unit < (left < L ? left : L); ++unit)
            for (int part = 0; part < 4; ++part) call.grad_sums[4 * (at + unit) + part] = apart[part][unit];
        store(call.grad_c + at, g * unit.stays, left);
    }
}

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
