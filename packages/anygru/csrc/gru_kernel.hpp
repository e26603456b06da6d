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

#include "call.hpp"
#include "formats.hpp"
#include "modifiers.hpp"
#include "norm.hpp"
#include "other_activations.hpp"
#include "partition.hpp"
#include "threads.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

// Format: how the weights are stored, and what of a row is multiplied with them; see formats.hpp.
template <class Real, class Format = InFull<Real>>
struct ForwardKernel {
    using V = Vector<Real>;
    using Operand = typename Format::Operand;
    static constexpr int L = lanes<Real>;

    const Forward<Real>& call;
    const Share share;
    const Index blocks;
    MatricesOf<Format> weights;
    typename Format::Tools tools;
    // This thread's scratch memory.
    const Operand** rows;   // pointers to rows of the matrix that is being multiplied
    char* converted;        // these rows, where the format asks for other values than they are made of
    Place<Real>* inputs;    // [own blocks] of W_ih x of this chunk
    Place<Real>* products;  // [own blocks] of products with the state
    Real* projected;        // [groups of own blocks][rows of the chunk][S][3][L]
    Real* sums;             // [groups of own blocks][own rows][S][W][L], as many groups as `gathered_bytes` hold

    ForwardKernel(const Forward<Real>& forward, int member)
        : call(forward),
          share(forward.grid, member, (forward.hidden + L - 1) / L, tile_rows),
          blocks(share.blocks),
          tools(forward.terms) {
        const ScratchLayout layout(call.sequence.batch, call.chunk, call.grid, blocks, L, tile_rows, deepest_block,
                                   call.operand_bytes, bool(call.norm));
        char* memory = reinterpret_cast<char*>(call.scratch + member * call.scratch_size);
        rows = reinterpret_cast<const Operand**>(memory);
        converted = memory + layout.operands;
        inputs = reinterpret_cast<Place<Real>*>(memory + layout.places);
        products = inputs + layout.own_blocks;
        Real* panels = reinterpret_cast<Real*>(memory + layout.panels);
        sums = panels + layout.panel_elements;
        projected = sums + layout.sum_elements;
        weights = Format::matrices(call, blocks, panels);
    }

    static void run(const Forward<Real>& forward, int member) { ForwardKernel(forward, member).compute(); }

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

    // What the parts of one step share.
    struct Step {
        Index t, size, slot;
        const Real* previous;  // state buffers
        Real* next;
    };

    Index step_at(Index number) const { return call.reverse ? call.sequence.steps - 1 - number : number; }

    Real* state(Index parity) const { return call.state + parity * call.sequence.batch * call.pitch; }

    // Packed weights of this thread's blocks, and the initial state, of ragged batches in both buffers: a sequence that
    // starts later, as they do in reverse, then finds its h_0 in either.
    void prepare() {
        if (!call.packed_ready)
            for (Index block = share.first_block + share.row_group; block < share.last_block; block += share.row_groups)
                Format::pack(call, block, block + 1);
        const Index batch = call.sequence.batch, buffers = call.sequence.sizes ? 2 : 1;
        for (Index b = share.member; b < batch; b += share.members) {
            for (Index parity = 0; parity < buffers; ++parity) {
                Real* to = state(parity) + b * call.pitch;
                const Index given = call.h_0 ? call.hidden : 0;
                if (given) std::memcpy(to, call.h_0 + call.places.of(b), sizeof(Real) * given);
                std::memset(to + given, 0, sizeof(Real) * (blocks * L - given));
            }
            const bool empty = call.sequence.steps == 0 || b >= call.sequence.size(0);
            if (empty)
                std::memcpy(call.h_n + call.places.of(b), state(0) + b * call.pitch, sizeof(Real) * call.hidden);
            else if (changes_state())
                modify_first(b);
        }
        if (share.members > 1) call.grid.team->wait();
    }

    // Whether a step reads another state than the one that the last step gave.
    bool changes_state() const { return call.modifiers.decay.data || call.held; }

    // The state buffers hold the state as the next step reads it, decayed before that step; here for the first step of
    // sequence b.
    void modify_first(Index b) {
        Index t = step_at(0);
        while (call.sequence.size(t) <= b) --t;  // in reverse, the shorter sequences start later
        const NextRows first{call.sequence.first_row(t), call.modifiers.decay.data ? b + 1 : 0};
        for (Index at = 0; at < blocks * L; at += L) {
            const V h = load(state(0) + b * call.pitch + at);
            for (Index parity = 0; parity < 2; ++parity) hand_on(call, first, state(parity), b, at, h);
        }
    }

    // W_ih x for this thread's rows and blocks in steps done .. done + count - 1.
    void project(Index done, Index count) {
        Index slots = 0;
        for (Index i = 0; i < count; ++i) {
            const Index t = step_at(done + i);
            const Real* input = call.sequence.at(call.input, t);
            for (OwnRows own(share, call.sequence.size(t)); own.next();)
                for (Index b = own.first; b < own.last; ++b)
                    place(slots++, input + b * call.input.row_stride, call.input_size);
        }
        Real* to = projected;
        for_panels<3>(slots, 0, [&](Index block, int panels, Index following) {
            Format::template product<3>(tools, rows, slots, weights.input, block, panels, following, to);
            note<3>(inputs, block, panels, to);
            to += slots * panels * 3 * L;
        });
        if (call.norm) normalise_inputs(done, count);
    }

    ForwardNorm<Real> norm() const { return {call}; }

    void normalise_inputs(Index done, Index count) {
        Index slot = 0;
        for (Index i = 0; i < count; ++i) {
            const Index t = step_at(done + i);
            const Index first_row = call.sequence.first_row(t);
            for_few(call.sequence.size(t), [&](Index, Index b, auto count) {
                norm().template inputs<decltype(count)::value>(inputs, slot, first_row + b);
                slot += count.value;
            });
        }
    }

    // The products with the state of all rows, for the gates from `first` to `last`.
    void normalise_products(const Step& now, int first, int last) {
        const Index first_row = call.sequence.first_row(now.t);
        for_few(now.size, [&](Index i, Index b, auto count) {
            norm().template products<decltype(count)::value>(products, i, first_row + b, first, last);
        });
    }

    // One step of this thread's rows and blocks; slot is the number of its first row in the chunk. Returns its rows.
    Index step(Index t, Index parity, Index slot) {
        fetch_factors(t);
        const bool modified = call.held || call.modifiers.zoneout.data || call.modifiers.candidate.data || call.norm ||
                              !call.activations.usual();
        return modified ? step_of<true>(t, parity, slot) : step_of<false>(t, parity, slot);
    }

    // The factors of this step (and the decay before the one that follows) on their way to the cache while products are
    // computed: they are read block by block, an order that the CPU does not foresee.
    void fetch_factors(Index t) {
        const Modifiers<Real>& own = call.modifiers;
        const NextRows ahead = next_rows(call, t);
        const Index now = call.sequence.first_row(t), size = call.sequence.size(t);
        const Index first = share.first_block * L, last = share.last_block * L;
        for_rows(size, [&](Index, Index b) {
            fetch(own.zoneout, now + b, first, last);
            fetch(own.candidate, now + b, first, last);
            if (b >= ahead.size) return;
            fetch(own.decay, ahead.first_row + b, first, last);
            fetch(own.offset, ahead.first_row + b, first, last);
        });
    }

    template <bool Modified>
    Index step_of(Index t, Index parity, Index slot) {
        const Index size = call.sequence.size(t);
        const Step now{t, size, slot, state(parity), state(parity ^ 1)};
        const Index count = gather(now.previous, call.pitch, size);
        if (call.reset_before) {
            step_before<Modified>(now, count, parity);
        } else {
            multiply(count, parity, weights.after, [&](Index first, Index last) {
                if (Modified && call.norm) normalise_products(now, 0, 2);
                finish_after<Modified>(now, first, last);
            });
        }
        leave(t, size, now.next);
        exchange();
        return count;
    }

    template <bool Modified>
    void step_before(const Step& now, Index count, Index parity) {
        multiply(count, parity, weights.gates, [&](Index first, Index last) {
            if (Modified && call.norm) normalise_products(now, 0, 1);
            reset_before<Modified>(now, first, last);
        });
        exchange();
        gather(call.reset_state, 2 * call.pitch, now.size);
        multiply(count, parity, weights.candidate, [&](Index first, Index last) {
            if (Modified && call.norm) normalise_products(now, 2, 2);
            finish_before<Modified>(now, first, last);
        });
    }

    // Threads of a row group hand their parts of h to one another.
    void exchange() {
        if (call.grid.block_groups > 1) call.grid.row_group[share.row_group].wait();
    }

    // Makes a row of `width` values number `slot` of those that are multiplied.
    ANYGRU_INLINE void place(Index slot, const Real* row, Index width) {
        rows[slot] = Format::operand(tools, row, width, converted + slot * call.operand_bytes);
    }

    // This thread's rows of a state buffer as those that are multiplied; returns their number.
    Index gather(const Real* from, Index pitch, Index size) {
        Index count = 0;
        for (OwnRows own(share, size); own.next();)
            for (Index b = own.first; b < own.last; ++b) place(count++, from + b * pitch, call.hidden);
        return count;
    }

    // Calls work(block, panels, a block that is next) over the thread's blocks, backwards in every other step: what the
    // last step used last is still in the cache.
    template <int W, class Work>
    ANYGRU_INLINE void for_panels(Index count, Index parity, const Work& work) {
        if ((parity == 0) != call.from_the_end) {
            for (Index block = share.first_block; block < share.last_block;) {
                const int panels = Format::template panels_for<W>(count, share.last_block - block);
                const Index following = block + panels < share.last_block ? block + panels : block;
                work(block, panels, following);
                block += panels;
            }
        } else {
            for (Index end = share.last_block; end > share.first_block;) {
                const int panels = Format::template panels_for<W>(count, end - share.first_block);
                end -= panels;
                work(end, panels, end > share.first_block ? end - 1 : end);
            }
        }
    }

    template <int W>
    ANYGRU_INLINE void note(Place<Real>* places, Index block, int panels, Real* at) const {
        for (int s = 0; s < panels; ++s) places[block - share.first_block + s] = {at + s * W * L, panels * W * L};
    }

    // The gathered rows times this thread's weights; finish(first, last) follows for every few blocks. With few rows
    // (and with a norm, over all units) these are all of them: gates of several blocks, one right after the other,
    // overlap in the CPU, where products between them would part them.
    template <int W, class Finish>
    ANYGRU_INLINE void multiply(Index count, Index parity, const typename Format::template Matrix<W>& matrix,
                                const Finish& finish) {
        Index room = count <= few_rows ? gathered_bytes / Index(sizeof(Real)) : 0;
        if (call.norm) room = count * share.blocks * W * L;
        Index used = 0, first = 0, last = 0;
        for_panels<W>(count, parity, [&](Index block, int panels, Index following) {
            const Index needed = count * panels * W * L;
            if (used > 0 && used + needed > room) {
                finish(first, last);
                used = 0;
            }
            if (used == 0 || block < first) first = block;
            if (used == 0 || block >= last) last = block + panels;
            Format::template product<W>(tools, rows, count, matrix, block, panels, following, sums + used);
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

    // The same for a few neighbouring rows: work(the first row's number, its b, how many as a Constant).
    template <class Work>
    ANYGRU_INLINE void for_few(Index size, const Work& work) {
        Index before = 0;
        for (OwnRows own(share, size); own.next(); before += own.last - own.first)
            for_few_rows(own.first, own.last, [&](Index b, auto count) { work(before + b - own.first, b, count); });
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
    // gates at a time, and of r, z and n together, which wait for one another, it would have too few in flight. Gates
    // other than sigmoid stay sums here, and `opened` activates them in that loop.
    template <bool Modified>
    void open_gates(const Step& now, Index first, Index last) {
        const bool sums_only = Modified && call.activations.gates != Activation::sigmoid;
        Real* const kept = call.kept ? call.kept + call.sequence.first_row(now.t) * 4 * call.hidden : nullptr;
        for_sums(now.size, first, last, now.slot, [&](Index b, Index block, Real* sum, const Real* in) ANYGRU_INLINED {
            if (kept) claim(kept + b * 4 * call.hidden + block * L, call.hidden);
            const Real* bias = call.bias + block * 4 * L;
            const V r = load(in) + load(sum) + load(bias), z = load(in + L) + load(sum + L) + load(bias + L);
            store(sum, sums_only ? r : sigmoid<Real>(r));
            store(sum + L, sums_only ? z : sigmoid<Real>(z));
        });
    }

    // Fetches the places of four values of a unit that are about to be kept. Neighbouring rows lie so far apart that
    // the CPU does not foresee them, and writing waits for memory as reading does.
    static ANYGRU_INLINE void claim(Real* kept, Index hidden) {
        for (int value = 0; value < 4; ++value) __builtin_prefetch(kept + value * hidden, 1);
    }

    // A gate from what `open_gates` left.
    template <bool Modified>
    ANYGRU_INLINE V opened(V gate) const {
        if (!Modified || call.activations.gates == Activation::sigmoid) return gate;
        return activated<Real>(call.activations.gates, gate);
    }

    template <bool Modified>
    ANYGRU_INLINE V candidate(V argument) const {
        if (!Modified || call.activations.candidate == Activation::tanh) return tanh<Real>(argument);
        return activated<Real>(call.activations.candidate, argument);
    }

    // What backward needs of an activation.
    template <bool Modified>
    static ANYGRU_INLINE V kept_of(Activation which, V argument, V value) {
        return Modified && keeps_argument(which) ? argument : value;
    }

    // The state after the step, from gates, candidate and state.
    template <bool Modified>
    ANYGRU_INLINE V blended(Index row, Index at, V z, V n, V h) const {
        if constexpr (Modified) {
            const Blend<Real> blend(call.modifiers, row, at, call.hidden - at, z, n);
            return fused(blend.z, h - blend.n, blend.n);
        }
        return fused(z, h - n, n);
    }

    template <bool Modified>
    void finish_after(const Step& now, Index first, Index last) {
        open_gates<Modified>(now, first, last);
        const NextRows ahead = next_rows(call, now.t);
        const Index first_row = call.sequence.first_row(now.t);
        const Real* const held = Modified && call.held ? call.held : now.previous;
        Real* const output = call.sequence.at(call.output, now.t);
        Real* const kept = call.kept ? call.kept + first_row * 4 * call.hidden : nullptr;
        const auto work = [&](Index b, Index block, const Real* gates, const Real* in) ANYGRU_INLINED {
            const Index at = block * L, width = call.hidden - at;
            const Real* bias = call.bias + (block * 4 + 2) * L;
            const V to_r = load(gates), to_z = load(gates + L), product_n = load(gates + 2 * L) + load(bias + L);
            const V r = opened<Modified>(to_r), z = opened<Modified>(to_z);
            const V to_n = fused(r, product_n, load(in + 2 * L) + load(bias)), n = candidate<Modified>(to_n);
            const V result = blended<Modified>(first_row + b, at, z, n, load(held + b * call.pitch + at));
            hand_on(call, ahead, now.next, b, at, result);
            store(output + b * call.output.row_stride + at, result, width);
            if (!kept) return;
            Real* const to = kept + b * 4 * call.hidden + at;
            store(to, kept_of<Modified>(call.activations.gates, to_r, r), width);
            keep<Modified>(to, width, to_z, z, to_n, n, product_n);
        };
        for_sums(now.size, first, last, now.slot, work);
    }

    template <bool Modified>
    ANYGRU_INLINE void keep(Real* kept, Index width, V to_z, V z, V to_n, V n, V last) const {
        store(kept + call.hidden, kept_of<Modified>(call.activations.gates, to_z, z), width);
        store(kept + 2 * call.hidden, kept_of<Modified>(call.activations.candidate, to_n, n), width);
        store(kept + 3 * call.hidden, last, width);
    }

    // r * h, and z as `open_gates` left it, for the second half of the step.
    template <bool Modified>
    void reset_before(const Step& now, Index first, Index last) {
        open_gates<Modified>(now, first, last);
        Real* const kept = call.kept ? call.kept + call.sequence.first_row(now.t) * 4 * call.hidden : nullptr;
        const auto work = [&](Index b, Index block, const Real* gates, const Real*) ANYGRU_INLINED {
            const Index at = block * L;
            const V to_r = load(gates), r = opened<Modified>(to_r);
            Real* state = call.reset_state + b * 2 * call.pitch + at;
            store(state, r * load(now.previous + b * call.pitch + at));
            store(state + call.pitch, load(gates + L));
            if (!kept) return;
            const V backward = kept_of<Modified>(call.activations.gates, to_r, r);
            store(kept + b * 4 * call.hidden + at, backward, call.hidden - at);
        };
        for_sums(now.size, first, last, now.slot, work);
    }

    template <bool Modified>
    void finish_before(const Step& now, Index first, Index last) {
        const NextRows ahead = next_rows(call, now.t);
        const Index first_row = call.sequence.first_row(now.t);
        const Real* const held = Modified && call.held ? call.held : now.previous;
        Real* const output = call.sequence.at(call.output, now.t);
        Real* const kept = call.kept ? call.kept + first_row * 4 * call.hidden : nullptr;
        const auto work = [&](Index b, Index block, const Real* sum, const Real* in) ANYGRU_INLINED {
            const Index at = block * L, width = call.hidden - at;
            const Real* state = call.reset_state + b * 2 * call.pitch + at;
            const V to_n = load(in + 2 * L) + load(sum) + load(call.bias + (block * 4 + 2) * L);
            const V to_z = load(state + call.pitch);
            const V n = candidate<Modified>(to_n), z = opened<Modified>(to_z);
            const V result = blended<Modified>(first_row + b, at, z, n, load(held + b * call.pitch + at));
            hand_on(call, ahead, now.next, b, at, result);
            store(output + b * call.output.row_stride + at, result, width);
            if (kept) keep<Modified>(kept + b * 4 * call.hidden + at, width, to_z, z, to_n, n, load(state));
        };
        for_sums(now.size, first, last, now.slot, work);
    }

    // Final states of the sequences that this step was the last of.
    void leave(Index t, Index size, const Real* next) {
        const Sequence& sequence = call.sequence;
        Index stay = 0;
        if (!call.reverse)
            stay = t + 1 < sequence.steps ? sequence.size(t + 1) : 0;
        else if (t > 0)
            return;
        if (stay == size || call.h_n == call.output.data) return;  // a cell's step has one result
        const Index at = share.first_block * L;
        const Index end = share.last_block * L < call.hidden ? share.last_block * L : call.hidden;
        if (end <= at) return;
        for_rows(size, [&](Index, Index b) {
            if (b < stay) return;
            const Real* last = next + b * call.pitch;
            if (changes_state()) last = call.sequence.at(call.output, t) + b * call.output.row_stride;
            std::memcpy(call.h_n + call.places.of(b) + at, last + at, sizeof(Real) * (end - at));
        });
    }
};

template <class Real, class Format>
constexpr FormatKernels<Real> format_kernels(Index weight_bytes, Terms terms = {}) {
    return {&ForwardKernel<Real, Format>::run,
            &Format::pack,
            &Format::unpack,
            &Format::packed_bytes,
            &Format::operand_bytes,
            weight_bytes,
            terms,
            nullptr,
            nullptr,
            nullptr,
            nullptr};
}

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
