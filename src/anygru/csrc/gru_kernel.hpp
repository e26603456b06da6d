// The forward pass of one direction of one layer, for one vector width.
//
//   r  = sigmoid(W_ir x + b_ir + W_hr h + b_hr)
//   z  = sigmoid(W_iz x + b_iz + W_hz h + b_hz)
//   n  = tanh(W_in x + b_in + r * (W_hn h + b_hn))     reset after the product
//   n  = tanh(W_in x + b_in + W_hn (r * h) + b_hn)     reset before it
//   h' = (1 - z) * n + z * h
//
// Hidden units are handled in blocks of one vector; a thread owns some blocks and some rows of the batch. For a chunk
// of steps it first multiplies the inputs with its blocks of W_ih, then walks through the steps.
#pragma once

#include "activations.hpp"
#include "call.hpp"
#include "decay.hpp"
#include "panels.hpp"
#include "partition.hpp"
#include "threads.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

template <class Real>
struct ForwardKernel {
    using V = Vector<Real>;
    static constexpr int L = lanes<Real>;

    const Forward<Real>& call;
    const Share share;
    const Index blocks;
    Weights<Real, 3> input_weights;
    Weights<Real, 3> after_weights;      // all gates of W_hh
    Weights<Real, 2> gate_weights;       // reset before: r and z ...
    Weights<Real, 1> candidate_weights;  // ... and n
    // This thread's scratch memory.
    const Real** rows;      // pointers to rows of the matrix that is being multiplied
    Place<Real>* inputs;    // [own blocks] of W_ih x of this chunk
    Place<Real>* products;  // [own blocks] of products with the state
    Real* projected;        // [groups of own blocks][rows of the chunk][S][3][L]
    Real* sums;             // [groups of own blocks][own rows][S][W][L], as many groups as `gathered_bytes` hold

    ForwardKernel(const Forward<Real>& forward, int member)
        : call(forward), share(forward.grid, member, (forward.hidden + L - 1) / L, tile_rows), blocks(share.blocks) {
        const Index hidden = call.hidden;
        const ScratchLayout layout(call.sequence.batch, call.chunk, call.grid, blocks, L, tile_rows, deepest_block);
        char* memory = reinterpret_cast<char*>(call.scratch + member * call.scratch_size);
        rows = reinterpret_cast<const Real**>(memory);
        inputs = reinterpret_cast<Place<Real>*>(memory + layout.places);
        products = inputs + layout.own_blocks;
        Real* panels = reinterpret_cast<Real*>(memory + layout.panels);
        sums = panels + layout.panel_elements;
        projected = sums + layout.sum_elements;
        const Real* packed = call.packed;
        const Real* recurrent = packed ? packed + recurrent_at(call, blocks) : nullptr;
        input_weights = {call.packs_input ? packed : nullptr, call.weight_ih, hidden, call.input_size, panels};
        after_weights = {recurrent, call.weight_hh, hidden, hidden, panels};
        gate_weights = {recurrent, call.weight_hh, hidden, hidden, panels};
        candidate_weights = {packed ? recurrent + blocks * 2 * L * hidden : nullptr,
                             call.weight_hh + 2 * hidden * hidden, hidden, hidden, panels};
    }

    static void run(const Forward<Real>& forward, int member) { ForwardKernel(forward, member).compute(); }

    // Where the recurrent weights begin in `packed`.
    static Index recurrent_at(const Forward<Real>& call, Index blocks) {
        return call.packs_input ? blocks * 3 * L * call.input_size : 0;
    }

    // Packs the weights and the biases of blocks first .. last - 1.
    static void pack(const Forward<Real>& call, Index first, Index last) {
        const Index hidden = call.hidden;
        const Index blocks = (hidden + L - 1) / L;
        for (Index block = first; block < last; ++block) {
            pack_bias(call, block);
            if (!call.packed) continue;
            if (call.packs_input)
                pack_rows(call.weight_ih, hidden, 3, block * L, call.input_size, call.input_size,
                          call.packed + block * 3 * L * call.input_size);
            Real* recurrent = call.packed + recurrent_at(call, blocks);
            if (!call.reset_before) {
                pack_rows(call.weight_hh, hidden, 3, block * L, hidden, hidden, recurrent + block * 3 * L * hidden);
            } else {
                pack_rows(call.weight_hh, hidden, 2, block * L, hidden, hidden, recurrent + block * 2 * L * hidden);
                pack_rows(call.weight_hh + 2 * hidden * hidden, hidden, 1, block * L, hidden, hidden,
                          recurrent + (blocks * 2 + block) * L * hidden);
            }
        }
    }

    // [4][L]: b_ir + b_hr, b_iz + b_hz, b_in, b_hn; b_in + b_hn and zero when the reset comes before the product.
    static void pack_bias(const Forward<Real>& call, Index block) {
        Real* bias = call.bias + block * 4 * L;
        const auto part = [&](const Real* given, int gate) ANYGRU_INLINED {
            return given ? load(given + gate * call.hidden + block * L, call.hidden - block * L) : V{};
        };
        const V in = part(call.bias_ih, 2), out = part(call.bias_hh, 2);
        for (int gate = 0; gate < 2; ++gate)
            store(bias + gate * L, part(call.bias_ih, gate) + part(call.bias_hh, gate));
        store(bias + 2 * L, call.reset_before ? in + out : in);
        store(bias + 3 * L, call.reset_before ? V{} : out);
    }

    void compute() {
        prepare();
        const Sequence& sequence = call.sequence;
        Index parity = 0;
        for (Index done = 0, chunk = 0; done < sequence.steps; done += call.chunk, ++chunk) {
            const Index count = sequence.steps - done < call.chunk ? sequence.steps - done : call.chunk;
            if (call.input_ready) call.input_ready->wait_for(chunk + 1);
            project(done, count);
            Index slot = 0;
            for (Index i = 0; i < count; ++i, parity ^= 1) slot += step(step_at(done + i), parity, slot);
            if (call.output_ready) call.output_ready->raise();
        }
    }

    Index step_at(Index number) const { return call.reverse ? call.sequence.steps - 1 - number : number; }

    Real* state(Index parity) const { return call.state + parity * call.sequence.batch * call.pitch; }

    // Packed weights of this thread's blocks, and the initial state in both buffers: a sequence that starts later, as
    // ragged ones do in reverse, then finds its h_0 in either.
    void prepare() {
        if (!call.packed_ready)
            for (Index block = share.first_block + share.row_group; block < share.last_block; block += share.row_groups)
                pack(call, block, block + 1);
        const Index batch = call.sequence.batch;
        for (Index b = share.member; b < batch; b += share.members) {
            for (Index parity = 0; parity < 2; ++parity) {
                Real* to = state(parity) + b * call.pitch;
                const Index given = call.h_0 ? call.hidden : 0;
                if (given) std::memcpy(to, call.h_0 + b * call.hidden, sizeof(Real) * given);
                std::memset(to + given, 0, sizeof(Real) * (blocks * L - given));
            }
            const bool empty = call.sequence.steps == 0 || b >= call.sequence.size(0);
            if (empty)
                std::memcpy(call.h_n + b * call.hidden, state(0) + b * call.pitch, sizeof(Real) * call.hidden);
            else if (call.decay.data)
                decay_first(b);
        }
        if (share.members > 1) call.grid.team->wait();
    }

    // Both buffers hold the state as the next step reads it, with that step's decay; here for the first step of
    // sequence b.
    void decay_first(Index b) {
        Index t = step_at(0);
        while (call.sequence.size(t) <= b) --t;  // in reverse, the shorter sequences start later
        const Index row = call.sequence.first_row(t) + b;
        for (Index at = 0; at < blocks * L; at += L) {
            const V h = decayed<Real>(call.decay, row, at, call.hidden - at, load(state(0) + b * call.pitch + at));
            for (Index parity = 0; parity < 2; ++parity) store(state(parity) + b * call.pitch + at, h);
        }
    }

    // The rows of the step that follows step t, if the state is decayed before it.
    struct Following {
        Index first_row, size;
    };

    Following following(Index t) const {
        const Index next = call.reverse ? t - 1 : t + 1;
        if (!call.decay.data || next < 0 || next >= call.sequence.steps) return {0, 0};
        return {call.sequence.first_row(next), call.sequence.size(next)};
    }

    ANYGRU_INLINE V carried(const Following& ahead, Index b, Index at, V h) const {
        return b < ahead.size ? decayed<Real>(call.decay, ahead.first_row + b, at, call.hidden - at, h) : h;
    }

    // W_ih x for this thread's rows and blocks in steps done .. done + count - 1.
    void project(Index done, Index count) {
        Index slots = 0;
        for (Index i = 0; i < count; ++i) {
            const Index t = step_at(done + i);
            const Real* input = call.sequence.at(call.input, t);
            for (OwnRows own(share, call.sequence.size(t)); own.next();)
                for (Index b = own.first; b < own.last; ++b) rows[slots++] = input + b * call.input.row_stride;
        }
        Real* to = projected;
        for_panels<3>(slots, 0, [&](Index block, int panels) {
            product<Real, 3>(rows, slots, input_weights, block, panels, to);
            note<3>(inputs, block, panels, to);
            to += slots * panels * 3 * L;
        });
    }

    // One step of this thread's rows and blocks; slot is the number of its first row in the chunk. Returns its rows.
    Index step(Index t, Index parity, Index slot) {
        const Index size = call.sequence.size(t);
        const Real* previous = state(parity);
        Real* next = state(parity ^ 1);
        Index count = gather(previous, call.pitch, size);
        if (call.reset_before) {
            step_before(t, size, count, previous, next, parity, slot);
        } else {
            multiply(count, parity, after_weights,
                     [&](Index first, Index last) { finish_after(t, size, first, last, previous, next, slot); });
        }
        leave(t, size, next);
        exchange();
        return count;
    }

    void step_before(Index t, Index size, Index count, const Real* previous, Real* next, Index parity, Index slot) {
        multiply(count, parity, gate_weights,
                 [&](Index first, Index last) { reset_before(t, size, first, last, previous, slot); });
        exchange();
        gather(call.reset_state, 2 * call.pitch, size);
        multiply(count, parity, candidate_weights,
                 [&](Index first, Index last) { finish_before(t, size, first, last, previous, next, slot); });
    }

    // Threads of a row group hand their parts of h to one another.
    void exchange() {
        if (call.grid.block_groups > 1) call.grid.row_group[share.row_group].wait();
    }

    // Pointers to this thread's rows of a state buffer; returns their number.
    Index gather(const Real* from, Index pitch, Index size) {
        Index count = 0;
        for (OwnRows own(share, size); own.next();)
            for (Index b = own.first; b < own.last; ++b) rows[count++] = from + b * pitch;
        return count;
    }

    // Calls work(block, panels) over the thread's blocks, backwards in every other step: what the last step used last
    // is still in the cache.
    template <int W, class Work>
    ANYGRU_INLINE void for_panels(Index count, Index parity, const Work& work) {
        if ((parity == 0) != call.from_the_end) {
            for (Index block = share.first_block; block < share.last_block;) {
                const int panels = panels_for<W>(count, share.last_block - block);
                work(block, panels);
                block += panels;
            }
        } else {
            for (Index end = share.last_block; end > share.first_block;) {
                const int panels = panels_for<W>(count, end - share.first_block);
                end -= panels;
                work(end, panels);
            }
        }
    }

    template <int W>
    ANYGRU_INLINE void note(Place<Real>* places, Index block, int panels, Real* at) const {
        for (int s = 0; s < panels; ++s) places[block - share.first_block + s] = {at + s * W * L, panels * W * L};
    }

    // The gathered rows times this thread's weights; finish(first, last) follows for every few blocks. With few rows
    // these are all of them: gates of several blocks, one right after the other, overlap in the CPU, where products
    // between them would part them.
    template <int W, class Finish>
    ANYGRU_INLINE void multiply(Index count, Index parity, const Weights<Real, W>& weights, const Finish& finish) {
        const Index room = count <= few_rows ? gathered_bytes / Index(sizeof(Real)) : 0;
        Index used = 0, first = 0, last = 0;
        for_panels<W>(count, parity, [&](Index block, int panels) {
            const Index needed = count * panels * W * L;
            if (used > 0 && used + needed > room) {
                finish(first, last);
                used = 0;
            }
            if (used == 0 || block < first) first = block;
            if (used == 0 || block >= last) last = block + panels;
            product<Real, W>(rows, count, weights, block, panels, sums + used);
            note<W>(products, block, panels, sums + used);
            used += needed;
        });
        if (used > 0) finish(first, last);
    }

    // Calls work(row of this thread in this step, b) for each of them.
    template <class Work>
    ANYGRU_INLINE void for_rows(Index size, const Work& work) {
        Index i = 0;
        for (OwnRows own(share, size); own.next();)
            for (Index b = own.first; b < own.last; ++b) work(i++, b);
    }

    // Calls work(b, block, sums of the products with the state, those with the input) for each own row and block: of
    // few rows all blocks in turn, of few blocks all rows.
    template <class Work>
    ANYGRU_INLINE void for_sums(Index size, Index first, Index last, Index slot, const Work& work) {
        const Index own = share.first_block;
        if (size <= few_rows) {
            for_rows(size, [&](Index i, Index b) ANYGRU_INLINED {
                for (Index block = first; block < last; ++block) {
                    const Place<Real> sums = products[block - own], in = inputs[block - own];
                    work(b, block, sums.at + i * sums.pitch, in.at + (slot + i) * in.pitch);
                }
            });
            return;
        }
        for (Index block = first; block < last; ++block) {
            const Place<Real> sums = products[block - own], in = inputs[block - own];
            for_rows(size, [&](Index i, Index b) ANYGRU_INLINED {
                work(b, block, sums.at + i * sums.pitch, in.at + (slot + i) * in.pitch);
            });
        }
    }

    // Reset and update gates in place of their sums. What follows them is a loop of its own: the CPU computes a few
    // gates at a time, and of r, z and n together, which wait for one another, it would have too few in flight.
    void open_gates(Index size, Index first, Index last, Index slot) {
        for_sums(size, first, last, slot, [&](Index, Index block, Real* sum, const Real* in) ANYGRU_INLINED {
            const Real* bias = call.bias + block * 4 * L;
            const V r = load(in) + load(sum) + load(bias), z = load(in + L) + load(sum + L) + load(bias + L);
            store(sum, sigmoid<Real>(r));
            store(sum + L, sigmoid<Real>(z));
        });
    }

    void finish_after(Index t, Index size, Index first, Index last, const Real* previous, Real* next, Index slot) {
        open_gates(size, first, last, slot);
        const Following ahead = following(t);
        Real* const output = call.sequence.at(call.output, t);
        Real* const kept = call.kept ? call.kept + call.sequence.first_row(t) * 4 * call.hidden : nullptr;
        for_sums(size, first, last, slot, [&](Index b, Index block, const Real* gates, const Real* in) ANYGRU_INLINED {
            const Index at = block * L, width = call.hidden - at;
            const Real* bias = call.bias + (block * 4 + 2) * L;
            const V r = load(gates), z = load(gates + L), product_n = load(gates + 2 * L) + load(bias + L);
            const V n = tanh<Real>(fused(r, product_n, load(in + 2 * L) + load(bias)));
            const V h = load(previous + b * call.pitch + at);
            const V result = fused(z, h - n, n);
            store(next + b * call.pitch + at, carried(ahead, b, at, result));
            store(output + b * call.output.row_stride + at, result, width);
            if (kept) keep(kept + b * 4 * call.hidden + at, width, r, z, n, product_n);
        });
    }

    void keep(Real* kept, Index width, V r, V z, V n, V last) const {
        store(kept, r, width);
        store(kept + call.hidden, z, width);
        store(kept + 2 * call.hidden, n, width);
        store(kept + 3 * call.hidden, last, width);
    }

    // r * h and z, for the second half of the step.
    void reset_before(Index t, Index size, Index first, Index last, const Real* previous, Index slot) {
        open_gates(size, first, last, slot);
        Real* const kept = call.kept ? call.kept + call.sequence.first_row(t) * 4 * call.hidden : nullptr;
        for_sums(size, first, last, slot, [&](Index b, Index block, const Real* gates, const Real*) ANYGRU_INLINED {
            const Index at = block * L;
            const V r = load(gates);
            Real* state = call.reset_state + b * 2 * call.pitch + at;
            store(state, r * load(previous + b * call.pitch + at));
            store(state + call.pitch, load(gates + L));
            if (kept) store(kept + b * 4 * call.hidden + at, r, call.hidden - at);
        });
    }

    void finish_before(Index t, Index size, Index first, Index last, const Real* previous, Real* next, Index slot) {
        const Following ahead = following(t);
        Real* const output = call.sequence.at(call.output, t);
        Real* const kept = call.kept ? call.kept + call.sequence.first_row(t) * 4 * call.hidden : nullptr;
        for_sums(size, first, last, slot, [&](Index b, Index block, const Real* sum, const Real* in) ANYGRU_INLINED {
            const Index at = block * L, width = call.hidden - at;
            const Real* state = call.reset_state + b * 2 * call.pitch + at;
            const V n = tanh<Real>(load(in + 2 * L) + load(sum) + load(call.bias + (block * 4 + 2) * L));
            const V z = load(state + call.pitch);
            const V h = load(previous + b * call.pitch + at);
            const V result = fused(z, h - n, n);
            store(next + b * call.pitch + at, carried(ahead, b, at, result));
            store(output + b * call.output.row_stride + at, result, width);
            if (kept) {
                Real* to = kept + b * 4 * call.hidden + at;
                store(to + call.hidden, z, width);
                store(to + 2 * call.hidden, n, width);
                store(to + 3 * call.hidden, load(state), width);
            }
        });
    }

    // Final states of the sequences that this step was the last of.
    void leave(Index t, Index size, const Real* next) {
        const Sequence& sequence = call.sequence;
        Index stay = 0;
        if (!call.reverse)
            stay = t + 1 < sequence.steps ? sequence.size(t + 1) : 0;
        else if (t > 0)
            return;
        if (stay == size) return;
        const Index at = share.first_block * L;
        const Index end = share.last_block * L < call.hidden ? share.last_block * L : call.hidden;
        if (end <= at) return;
        for_rows(size, [&](Index, Index b) {
            if (b < stay) return;
            const Real* last = next + b * call.pitch;
            if (call.decay.data) last = call.sequence.at(call.output, t) + b * call.output.row_stride;
            std::memcpy(call.h_n + b * call.hidden + at, last + at, sizeof(Real) * (end - at));
        });
    }
};

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
