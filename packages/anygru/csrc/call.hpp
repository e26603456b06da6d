// What one call of a kernel gets: plain pointers and sizes, the same for every instruction set.
#pragma once

#include <cstdint>

namespace anygru {

using Index = std::int64_t;

// Compiled for every instruction set, so never left to the linker as functions of one name.
#define ANYGRU_INLINED __attribute__((always_inline))
#define ANYGRU_INLINE inline ANYGRU_INLINED
#define ANYGRU_APART __attribute__((noinline))

// For so many rows weights are better read as they lie, once for all of these, than packed on the way.
constexpr Index few_rows = 4;

// Of how many bfloat16 numbers, its terms (terms.hpp), a value of a row or a weight is the sum; 0: it is as given.
struct Terms {
    int row = 0, weight = 0;
};

// How float32 is multiplied: as it is, or as sums of bfloat16 terms (tiled_format.hpp) where there are kernels for
// them.
enum class Precision { highest, high, float16, bfloat16 };

// The activations of gates and candidate, by the names of anygru/facts/entries.py.
#define ANYGRU_ACTIVATIONS(name) \
    name(sigmoid) name(tanh) name(relu) name(identity) name(hardsigmoid) name(hardtanh) name(softsign) name(softplus) \
        name(elu) name(gelu) name(silu)
#define ANYGRU_ENTRY(name) name,
enum class Activation { ANYGRU_ACTIVATIONS(ANYGRU_ENTRY) };
#undef ANYGRU_ENTRY

// Those of a layer.
struct Activations {
    Activation gates = Activation::sigmoid, candidate = Activation::tanh;

    bool usual() const { return gates == Activation::sigmoid && candidate == Activation::tanh; }
};

class Barrier;
class Progress;

// Rows of a batch over time: (t, b) lies at data + start(t) + b * row_stride.
// Dense batches step by step_stride; ragged ones are packed, so that step t starts at row offsets[t].
template <class Real>
struct Rows {
    Real* data;
    Index step_stride;
    Index row_stride;

    // From a column on. Where there are no rows there is no memory either, and nowhere in it.
    Rows from(Index column) const { return {data ? data + column : data, step_stride, row_stride}; }
};

// Where the states of the sequences are within h_0 and h_n, H values each.
struct StatePlaces {
    const Index* rows;  // [B] row of each sequence; null: its number
    Index row_stride;

    ANYGRU_INLINE Index of(Index b) const { return (rows ? rows[b] : b) * row_stride; }
};

struct Sequence {
    Index steps;           // T
    Index batch;           // B
    const Index* sizes;    // [T] sequences that are T > t steps long, never increasing; null: all B at every step
    const Index* offsets;  // [T + 1] rows before step t; null where sizes is

    ANYGRU_INLINE Index size(Index t) const { return sizes ? sizes[t] : batch; }
    ANYGRU_INLINE Index first_row(Index t) const { return sizes ? offsets[t] : t * batch; }

    template <class Real>
    ANYGRU_INLINE Real* at(const Rows<Real>& rows, Index t) const {
        return rows.data + (sizes ? offsets[t] * rows.row_stride : t * rows.step_stride);
    }
};

// Factors [rows, width]: one for each hidden unit, where width is 1 one for all of them, and where it is 0 one for
// everything.
template <class Real>
struct Factors {
    const Real* data;  // null: none
    Index width;
};

template <class Real>
struct Modifiers {
    Factors<Real> decay;      // of the state before each step; a state whose factor is 0 is 0, whatever it was
    Factors<Real> candidate;  // of the candidate: recurrent dropout after Semeniuta et al.
    Factors<Real> zoneout;    // the share of the old state in the new one
    const Real* mask;         // [B, H] of the state in products: recurrent dropout after Gal and Ghahramani; or null
    Factors<Real> offset;     // added to the state after its decay, which there is too: the state that a reset goes to
};

// Layer norm of the products with the weights, or none.
template <class Real>
struct Norm {
    const Real* gain_ih;  // [3H]; null: none
    const Real* gain_hh;  // [3H]

    explicit operator bool() const { return gain_ih != nullptr; }
};

// Sequences whose gradients of gains and biases one thread sums, so that the number of threads changes no bit.
constexpr Index norm_tile = 4;  // divides the tiles of all instruction sets, which threads share out
constexpr Index norm_tiles(Index batch) { return (batch + norm_tile - 1) / norm_tile; }

// Values a row that a norm keeps for backward: normalised products with the input and with the state, and the factors.
constexpr Index norm_width(Index hidden) { return 6 * hidden + 4; }

// Values a hidden unit in a row of Backward::grad_gates. The last three are r, z, n of the product with the input.
//   after:  W_hn h, r, z, n    before: r, z, n
//   with a norm, those of the product with the state (n, r, z after; r, z, n before) and then those with the input
constexpr Index gate_columns(bool reset_before, bool norm) { return norm ? 6 : reset_before ? 3 : 4; }

// How the threads of one team share a layer: a grid of row groups times block groups. Threads of one row group exchange
// h after every step; row groups never meet.
struct Grid {
    int row_groups;
    int block_groups;
    Barrier* team;       // all of them
    Barrier* row_group;  // [row_groups]
};

// One direction of one layer. Every pointer belongs to the caller; tensors are contiguous where no stride is given.
template <class Real>
struct Forward {
    Sequence sequence;
    Index input_size;  // I
    Index hidden;      // H
    bool reverse;
    bool reset_before;
    Activations activations;
    Rows<const Real> input;  // I values a row
    Rows<Real> output;       // H values a row
    Index state_stride;      // between the rows of h_0, h_n and the mask of the state
    const Real* h_0;         // [B, H] or null: zero
    Real* h_n;               // [B, H]
    StatePlaces places;      // of both
    const Real* weight_ih;   // [3H, I]; of int8 where an int8 format packs them
    const Real* weight_hh;   // [3H, H]
    bool halves;             // both are bfloat16 at these addresses, widened as they are read
    const float* scale_ih;   // [3H], of int8 weights
    const float* scale_hh;   // [3H]
    const Real* bias_ih;     // [3H] or null
    const Real* bias_hh;     // [3H] or null
    Real* kept;              // [rows, 4, H]: r, z, n (or their arguments, see keeps_argument) and W_hn h + b_hn (after)
                             // or r * h (before); null: inference
    Modifiers<Real> modifiers;
    Norm<Real> norm;
    Real* norm_kept;  // [rows, norm_width]; null: inference

    Grid grid;
    bool from_the_end;    // the first step walks over the blocks backwards
    Index chunk;          // steps whose input projections are computed at once
    Real* packed;         // weights in the order and format of the kernel (formats.hpp); null: read as they lie
    bool packed_ready;    // they were packed before the call
    bool packs_input;     // whether `packed` begins with the weights of the input, or holds the recurrent ones only
    Index operand_bytes;  // of a row in the form that is multiplied; 0: as it is
    Terms terms;
    Real* bias;         // [blocks, 4, lanes]
    Real* state;        // [2, B, pitch] h of the last step and of this one, as products read it
    Real* held;         // [B, pitch] h of the last step, where `state` is masked; else null
    Real* reset_state;  // [B, 2, pitch] r * h and z; reset_before only
    Index pitch;
    Real* scratch;  // [threads, scratch_size]
    Index scratch_size;

    Progress* input_ready;   // chunks of the input that are there, when another team computes it; null: all
    Progress* output_ready;  // chunks finished
};

// Backward through the recurrence of one direction: from gradients of the outputs to gradients of the gates before
// their activations. What is left are matrix products over all steps at once.
template <class Real>
struct Backward {
    Sequence sequence;
    Index hidden;
    bool reverse;
    bool reset_before;
    Activations activations;
    Rows<const Real> grad_output;  // H values a row; data null: zero
    Index state_stride;            // between the rows of the states, of their gradients and of the mask
    const Real* grad_h_n;          // [B, H] or null: zero
    Rows<const Real> output;
    const Real* h_0;        // [B, H]
    const Real* weight_hh;  // [3H, H]
    const Real* kept;       // [rows, 4, H]
    Real* grad_gates;       // [rows, gate_columns, H]
    Real* grad_norms;       // [tiles, 4, 3H]: to be added to the gradients of gain_ih, gain_hh, bias_ih, bias_hh
    Real* previous;         // [rows, H] h before each step as products read it, or null
    Modifiers<Real> modifiers;
    Norm<Real> norm;
    const Real* norm_kept;
    Real* grad_decay;      // [rows, H] or null
    Real* grad_offset;     // [rows, H] or null
    Real* grad_h_0;        // [B, H]
    bool multiplies_last;  // else grad_h_0 lacks the product of the last step's gates, and a decay
    Terms terms;           // see Forward, as operand_bytes
    Index operand_bytes;
    Real clipping;         // the greatest gradient that a step hands to the state before it; 0: any

    Grid grid;
    Real* packed;  // [blocks, 3H, lanes]; null: weight_hh is read as it lies
    Real* carry;   // [B, pitch]
    Index pitch;
    Real* scratch;
    Index scratch_size;
};

// What follows the recurrence in one direction: the sums over its rows.
template <class Real>
struct Gradients {
    Index rows, input_size, hidden;
    bool reset_before, norm;
    const Real* gates;         // Backward::grad_gates
    const Real* previous;      // [rows, H]
    const Real* kept;          // [rows, 4, H]; its r * h is read where reset_before
    const Real* input;         // [rows, I]
    const Real* weight_ih;     // [3H, I]
    Real* weight_ih_gradient;  // [3H, I] or null: not wanted; so all of these
    Real* weight_hh_gradient;  // [3H, H]
    Real* bias_ih_gradient;    // [3H]
    Real* bias_hh_gradient;    // [3H]
    bool adds;                 // to these; or overwrites them
    Real* input_gradient;      // [rows, I] or null
    bool adds_input;           // to it
    Precision precision;
    Terms terms;

    int members;    // threads that share the call
    Real* scratch;  // [members, scratch_size]
    Index scratch_size;
};

// A step of LSTM units (lstm_kernel.hpp), whose cells and output are made; or its gradients.
template <class Real>
struct LstmStep {
    Index units;              // of all sequences
    const Real* c;            // [units], before the step
    const Real* sums;         // [units, 4], what enters the gates
    Real* cells;              // [units], after the step
    Real* output;             // [units]; not read for gradients
    const Real* grad_cells;   // [units] or null: none
    const Real* grad_output;  // likewise
    Real* grad_sums;          // [units, 4]
    Real* grad_c;             // [units]
};

// The passes with weights in one format (formats.hpp).
template <class Real>
struct FormatKernels {
    void (*forward)(const Forward<Real>&, int member);
    void (*pack)(const Forward<Real>&, Index first, Index last);  // blocks first..last-1 into packed and bias
    // The matrices as they were packed, and the scales of int8 ones.
    void (*unpack)(const Forward<Real>&, void* weight_ih, void* weight_hh, float* scale_ih, float* scale_hh);
    Index (*packed_bytes)(const Forward<Real>&);
    Index (*operand_bytes)(Index width, Terms terms);
    Index weight_bytes;
    Terms terms;
    void (*backward)(const Backward<Real>&, int member);    // null: none in this format
    Index (*column_bytes)(const Backward<Real>&);           // of the weights that it packs
    void (*gradients)(const Gradients<Real>&, int member);  // of any number of rows, or in terms of more than a few
    Index (*gradient_scratch)(const Gradients<Real>&);      // elements that a thread needs for them
};

template <class Real>
struct KernelsOf {
    FormatKernels<Real> full;
    Real (*sum)(const Real* values, Index count);  // a plain walk over memory, by which its speed is measured
    void (*lstm)(const LstmStep<Real>&);
    void (*lstm_gradients)(const LstmStep<Real>&);
    int lanes;
};

struct Kernels {
    const char* name;
    int tile_rows;
    int depth_block;
    KernelsOf<float> single;
    KernelsOf<double> twice;

    template <class Real>
    const KernelsOf<Real>& of() const;
};

// Kernels for the weights of frozen layers and for lower precisions, with instructions that not all CPUs have which
// execute the kernels that they go with. Null functions: none.
struct FrozenKernels {
    const char* name;
    const char* kernels;                  // the name of those
    FormatKernels<float> bfloat16, int8;  // frozen
    FormatKernels<float> high, twice, once;  // Precision::high, float16 and bfloat16: terms of three, two and one
};

template <>
inline const KernelsOf<float>& Kernels::of<float>() const {
    return single;
}
template <>
inline const KernelsOf<double>& Kernels::of<double>() const {
    return twice;
}

}  // namespace anygru
