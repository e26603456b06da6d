// Backward through the recurrence of one direction of one layer, for one vector width.
//
// With dh the gradient of h' and s = 1 - z:
//   dn = dh s (1 - n^2)     dz = dh (h - n) z s
//   reset after:   dq = dn r,  dr = dn q r (1 - r)  with q = W_hn h + b_hn;   dh_prev = dh z + W_hr' dr + W_hz' dz +
//   W_hn' dq reset before:  dp = W_hn' dn,  dr = dp h r (1 - r)  with p = r h;         dh_prev = dh z + dp r + W_hr' dr
//   + W_hz' dz
// A modifier changes z and n before they blend, or the state before products read it; through a norm the gradients go
// on to those of the products.
// (dn, dz, dr are the gradients before the activations, here sigmoid and tanh.) A thread owns blocks of hidden units: it makes their gate
// gradients, waits for the other threads' ones, and multiplies all of them with its columns of W_hh.
#pragma once

#include "call.hpp"
#include "formats.hpp"
#include "modifiers.hpp"
#include "norm.hpp"
#include "other_activations.hpp"
#include "partition.hpp"
#include "threads.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

// Format: how weights and gradients are multiplied; see formats.hpp.
template <class Real, class Format = InFull<Real>>
struct BackwardKernel {
    using V = Vector<Real>;
    using Operand = typename Format::Operand;
    using Columns = typename Format::Columns;
    static constexpr int L = lanes<Real>;

    const Backward<Real>& call;
    const Share share;
    const Index hidden;
    const Index width;  // values a row of grad_gates
    const bool usual;   // sigmoid and tanh
    typename Format::Tools tools;
    Columns columns[2];    // of W_hh; with reset before, those of r and z and those of n
    const Operand** rows;  // pointers to rows of gates' gradients that are being multiplied
    char* converted;       // these rows, where the format asks for other values than they are made of
    Real* sums;            // [own rows][S][L]

    BackwardKernel(const Backward<Real>& backward, int member)
        : call(backward),
          share(backward.grid, member, (backward.hidden + L - 1) / L, tile_rows),
          hidden(backward.hidden),
          width(gate_columns(backward.reset_before, bool(backward.norm)) * backward.hidden),
          usual(backward.activations.usual()),
          tools(backward.terms) {
        const ScratchLayout layout(call.sequence.batch, 1, call.grid, share.blocks, L, tile_rows, deepest_block,
                                   call.operand_bytes);
        char* memory = reinterpret_cast<char*>(call.scratch + member * call.scratch_size);
        rows = reinterpret_cast<const Operand**>(memory);
        converted = memory + layout.operands;
        const char* packed = reinterpret_cast<const char*>(call.packed);
        const Index gates = call.reset_before ? 2 : 3;
        columns[0] = Format::columns(packed, gates * hidden, call.terms);
        if (packed) packed += Format::column_bytes(share.blocks, gates * hidden, call.terms);
        columns[1] = Format::columns(packed, hidden, call.terms);
        sums = reinterpret_cast<Real*>(memory + layout.panels);
    }

    static void run(const Backward<Real>& backward, int member) { BackwardKernel(backward, member).compute(); }

    // Of all columns; those of r and z and those of n may be apart.
    static Index column_bytes(const Backward<Real>& call) {
        const Index blocks = (call.hidden + L - 1) / L;
        const auto bytes = [&](Index gates) { return Format::column_bytes(blocks, gates * call.hidden, call.terms); };
        return call.reset_before ? bytes(2) + bytes(1) : bytes(3);
    }

    void compute() {
        prepare();
        const Sequence& sequence = call.sequence;
        for (Index i = 0; i < sequence.steps; ++i) {
            const Index t = call.reverse ? i : sequence.steps - 1 - i;
            const bool multiplies = i + 1 < sequence.steps || call.multiplies_last;
            if (call.reset_before)
                step_before(t, i & 1, multiplies);
            else
                step_after(t, i & 1, multiplies);
        }
        if (call.grad_h_0)
            for_rows(sequence.batch, [&](Index, Index b) {
                for (Index at = share.first_block * L; at < own_end(); ++at)
                    call.grad_h_0[b * call.state_stride + at] = call.carry[b * call.pitch + at];
            });
    }

    ColumnGroups own_groups() const { return {share.last_block - share.first_block}; }

    Index own_end() const { return share.last_block * L < hidden ? share.last_block * L : hidden; }

    // Packed columns of W_hh, rows in the order of grad_gates, and the gradient of h_n as the first carry: ragged
    // sequences find it there when their last step comes.
    void prepare() {
        const auto of_gates = [&](Index k) { return call.weight_hh + k * hidden; };
        const auto of_candidate = [&](Index k) { return call.weight_hh + (2 * hidden + k) * hidden; };
        const auto of_all = [&](Index k) { return k < hidden ? of_candidate(k) : of_gates(k - hidden); };
        const auto pack = [&](const Columns& matrix, const auto& from) {
            Format::pack_columns(matrix, share.first_block, own_groups(), hidden, from, share.row_group,
                                 share.row_groups);
        };
        if (call.packed && !call.reset_before) pack(columns[0], of_all);
        if (call.packed && call.reset_before) pack(columns[0], of_gates), pack(columns[1], of_candidate);
        for_rows(call.sequence.batch, [&](Index, Index b) {
            for (Index block = share.first_block; block < share.last_block; ++block) {
                const Index left = hidden - block * L;
                const V start = call.grad_h_n ? load(call.grad_h_n + b * call.state_stride + block * L, left) : V{};
                store(call.carry + b * call.pitch + block * L, start);
            }
        });
        if (share.members > 1) call.grid.team->wait();
    }

    template <class Work>
    ANYGRU_INLINE void for_rows(Index size, const Work& work) {
        Index i = 0;
        for (OwnRows own(share, size); own.next();)
            for (Index b = own.first; b < own.last; ++b) work(i++, b);
    }

    // h before step t of sequence b.
    ANYGRU_INLINE const Real* previous_state(Index t, Index b) const {
        const Sequence& sequence = call.sequence;
        const Index before = call.reverse ? t + 1 : t - 1;
        const bool started = call.reverse ? before < sequence.steps && b < sequence.size(before) : before >= 0;
        if (!started) return call.h_0 + b * call.state_stride;
        return sequence.at(call.output, before) + b * call.output.row_stride;
    }

    // The same, decayed: what the step read.
    ANYGRU_INLINE V state_before(Index t, Index b, Index at) const {
        const V h = load(previous_state(t, b) + at, hidden - at);
        if (!call.modifiers.decay.data) return h;
        return started(call.modifiers, call.sequence.first_row(t) + b, at, hidden - at, h);
    }

    // Times the mask of the state in products.
    ANYGRU_INLINE V masked(Index b, Index at, V value) const {
        if (!call.modifiers.mask) return value;
        return value * load(call.modifiers.mask + b * call.state_stride + at, hidden - at);
    }

    // r, z and n as forward kept them.
    struct Saved {
        V dh, r, z, n, last, h;
        Index at, left, row;
        Real* gates;  // row of grad_gates, at this block
    };

    ANYGRU_INLINE Saved saved(Index t, Index b, Index block) const {
        Saved now;
        const Index at = now.at = block * L, row = now.row = call.sequence.first_row(t) + b;
        const Real* kept = call.kept + row * 4 * hidden + at;
        now.left = hidden - at;
        now.dh = load(call.carry + b * call.pitch + at);
        if (call.grad_output.data)
            now.dh += load(call.sequence.at(call.grad_output, t) + b * call.grad_output.row_stride + at, now.left);
        now.r = load(kept, now.left);
        now.z = load(kept + hidden, now.left);
        now.n = load(kept + 2 * hidden, now.left);
        now.last = load(kept + 3 * hidden, now.left);
        now.h = state_before(t, b, at);
        now.gates = call.grad_gates + row * width + at;
        if (call.previous) store(call.previous + row * hidden + at, masked(b, at, now.h), now.left);
        return now;
    }

    // Gradients of update gate and candidate before their activations, and that of h through the blend. With reset
    // after, also those of the candidate's product and the reset gate.
    struct Parts {
        V dz, dn, dh, dq, dr;
    };

    ANYGRU_INLINE Parts parts(const Saved& s) const {
        if (!usual) {  // with copies, so that the usual ones stay in registers
            const Saved copy = s;
            const Parts found = parts_of_others(copy);
            return {found.dz, found.dn, found.dh, found.dq, found.dr};
        }
        const Blend<Real> blend(call.modifiers, s.row, s.at, s.left, s.z, s.n);
        const V dn = s.dh * (Real(1) - blend.z) * blend.masked * (Real(1) - s.n * s.n);
        return {s.dh * (s.h - blend.n) * blend.kept * s.z * (Real(1) - s.z), dn, s.dh * blend.z, dn * s.r,
                dn * s.last * s.r * (Real(1) - s.r)};
    }

    // The same with other activations than sigmoid and tanh.
    ANYGRU_APART Parts parts_of_others(const Saved& s) const {
        const Activation gates = call.activations.gates, candidate = call.activations.candidate;
        const V r = value_of<Real>(gates, s.r), z = value_of<Real>(gates, s.z), n = value_of<Real>(candidate, s.n);
        const Blend<Real> blend(call.modifiers, s.row, s.at, s.left, z, n);
        const V dz = through<Real>(gates, s.dh * (s.h - blend.n) * blend.kept, s.z);
        const V dn = through<Real>(candidate, s.dh * (Real(1) - blend.z) * blend.masked, s.n);
        return {dz, dn, s.dh * blend.z, dn * r, through<Real>(gates, dn * s.last, s.r)};
    }

    void step_after(Index t, Index parity, bool multiplies) {
        const Index size = call.sequence.size(t);
        make_gates(t, size, true, true, [&](Index b) {
            for (Index block = share.first_block; block < share.last_block; ++block) {
                const Saved s = saved(t, b, block);
                const Parts d = parts(s);
                store(s.gates, d.dq, s.left);
                store(s.gates + hidden, d.dr, s.left);
                store(s.gates + 2 * hidden, d.dz, s.left);
                store(s.gates + width - hidden, d.dn, s.left);
                store(call.carry + b * call.pitch + block * L, d.dh);
            }
        });
        if (!multiplies) return;
        exchange();
        multiply(t, size, columns[0], {0, 2, 1}, {hidden, 0, 2}, parity,
                 [&](Real* carry, V sum, Index place) { settle(t, carry, sum, place); });
    }

    void step_before(Index t, Index parity, bool multiplies) {
        const Index size = call.sequence.size(t);
        make_gates(t, size, false, true, [&](Index b) {
            for (Index block = share.first_block; block < share.last_block; ++block) {
                const Saved s = saved(t, b, block);
                const Parts d = parts(s);
                store(s.gates + hidden, d.dz, s.left);
                store(s.gates + 2 * hidden, d.dn, s.left);
                store(call.carry + b * call.pitch + block * L, d.dh);
            }
        });
        exchange();
        multiply(t, size, columns[1], {2 * hidden, 2, 1}, {}, parity, [&](Real* carry, V dp, Index place) {
            const Index b = place / call.pitch, at = place % call.pitch;
            const Index row = call.sequence.first_row(t) + b, left = hidden - at;
            const V r = load(call.kept + row * 4 * hidden + at, left);
            const V h = masked(b, at, state_before(t, b, at));
            const Activation gates = call.activations.gates;
            const V dr = usual ? dp * h * r * (Real(1) - r) : through<Real>(gates, dp * h, r);
            store(call.grad_gates + row * width + at, dr, left);
            store(carry, fused(dp, masked(b, at, usual ? r : value_of<Real>(gates, r)), load(carry)));
        });
        if (call.norm) make_gates(t, size, true, false, [](Index) {});
        if (!multiplies) return;
        exchange();
        multiply(t, size, columns[0], {0, 0, 2}, {}, parity,
                 [&](Real* carry, V sum, Index place) { settle(t, carry, sum, place); });
    }

    // Calls work(b) for each own row. Where products are normalised, the gradients of the update gates or the
    // candidate, or both, then go on to the products with state and input, a few rows at a time, while they are cached.
    template <class Work>
    ANYGRU_INLINE void make_gates(Index t, Index size, bool update, bool candidate, const Work& work) const {
        for (OwnRows own(share, size); own.next();) {
            if (!call.norm)
                for (Index b = own.first; b < own.last; ++b) work(b);
            else
                for_few_rows(own.first, own.last, [&](Index first, auto count) {
                    for (Index b = first; b < first + count; ++b) work(b);
                    if (update) through_norms<decltype(count)::value>(t, first, false);
                    if (candidate) through_norms<decltype(count)::value>(t, first, true);
                });
        }
    }

    // Gradients of the update gates, or those of the candidate, through the norms of R rows from b on.
    template <Index R>
    void through_norms(Index t, Index b, bool candidate) const {
        const Index row = call.sequence.first_row(t) + b;
        const NormRow<const Real> kept(call.norm_kept, row, hidden);
        Real* const gates = call.grad_gates + row * width;
        Real* const inputs = gates + width - 3 * hidden;
        Real* const sums = call.grad_norms + b / norm_tile * 12 * hidden;
        const Index gate = candidate ? 2 : 0, at = gate * hidden;
        Real* const own = gates + (call.reset_before ? at : candidate ? 0 : hidden);
        const Real* const given = candidate && !call.reset_before ? inputs + at : own;
        const auto through = [&](auto count) ANYGRU_INLINED {
            constexpr Index N = decltype(count)::value;
            through_norm<R, N>(hidden, width, given, call.norm.gain_ih + at, kept.input + at, kept.scales + gate / 2,
                               sums + at, sums + 6 * hidden + at, inputs + at);
            through_norm<R, N>(hidden, width, own, call.norm.gain_hh + at, kept.state + at, kept.scales + 2 + gate / 2,
                               sums + 3 * hidden + at, sums + 9 * hidden + at, own);
        };
        candidate ? through(Constant<1>{}) : through(Constant<2>{});
    }

    // The gradient of the state as products of step t read it, added to the carry, and on to the state before it was
    // decayed.
    ANYGRU_INLINE void settle(Index t, Real* carry, V sum, Index place) {
        const Index b = place / call.pitch, at = place % call.pitch, left = hidden - at;
        const V gradient = load(carry) + masked(b, at, sum);
        if (!call.modifiers.decay.data) return store(carry, clipped(gradient));
        const Index row = call.sequence.first_row(t) + b;
        if (call.grad_offset) store(call.grad_offset + row * hidden + at, gradient, left);
        if (call.grad_decay)
            store(call.grad_decay + row * hidden + at, gradient * load(previous_state(t, b) + at, left), left);
        store(carry, clipped(decayed(call.modifiers.decay, row, at, left, gradient)));
    }

    ANYGRU_INLINE V clipped(V gradient) const {
        if (call.clipping == 0) return gradient;
        const V most = broadcast<Real>(call.clipping);
        gradient = gradient > most ? most : gradient;
        return gradient < -most ? -most : gradient;
    }

    void exchange() {
        if (call.grid.block_groups > 1) call.grid.row_group[share.row_group].wait();
    }

    // Neighbouring columns of grad_gates and the rows of weight_hh that they are multiplied with.
    struct Part {
        Index column, gate, gates;
    };

    // following: the block that is multiplied next.
    void multiply_block(Index count, const Columns& packed, const Part& part, const Part& next, Index block, int panels,
                        Index following) {
        if (call.packed)
            return Format::product_of_columns(tools, rows, count, packed, block, panels, following, sums);
        if constexpr (Format::in_place) {
            const Index depth = part.gates * hidden;
            const Real* matrix = call.weight_hh + block * L;
            product_of_columns<Real>(rows, count, 0, depth, matrix + part.gate * hidden * hidden, hidden, panels, sums,
                                     true);
            if (next.gates)
                product_of_columns<Real>(rows, count, depth, next.gates * hidden, matrix + next.gate * hidden * hidden,
                                         hidden, panels, sums, false);
        }
    }

    // Gate gradients of step t times weights, for a part and the one that follows it; finish(carry, sum, place) gets
    // each vector.
    template <class Finish>
    ANYGRU_INLINE void multiply(Index t, Index size, const Columns& packed, const Part& part, const Part& next,
                                Index parity, const Finish& finish) {
        const Real* gates = call.grad_gates + call.sequence.first_row(t) * width + part.column;
        const Index depth = (part.gates + next.gates) * hidden;
        Index count = 0;
        for_rows(size, [&](Index, Index b) {
            rows[count] = Format::operand(tools, gates + b * width, depth, converted + count * call.operand_bytes);
            ++count;
        });
        const ColumnGroups groups = own_groups();
        for (Index done = 1; done <= groups.count(); ++done) {
            const Index group = parity == 0 ? done - 1 : groups.count() - done, after = parity == 0 ? done : group - 1;
            const Index block = share.first_block + groups.first(group);
            const Index following = done < groups.count() ? share.first_block + groups.first(after) : block;
            const int panels = groups.panels(group);
            multiply_block(count, packed, part, next, block, panels, following);
            for_rows(size, [&](Index i, Index b) {
                for (int s = 0; s < panels; ++s) {
                    const Index place = b * call.pitch + (block + s) * L;
                    finish(call.carry + place, load(sums + (i * panels + s) * L), place);
                }
            });
        }
    }
};

// With the backward pass in the same format, and what follows it.
template <class Real, class Format>
constexpr FormatKernels<Real> with_backward(FormatKernels<Real> kernels, void (*gradients)(const Gradients<Real>&, int),
                                            Index (*scratch)(const Gradients<Real>&)) {
    kernels.backward = &BackwardKernel<Real, Format>::run;
    kernels.column_bytes = &BackwardKernel<Real, Format>::column_bytes;
    kernels.gradients = gradients;
    kernels.gradient_scratch = scratch;
    return kernels;
}

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
