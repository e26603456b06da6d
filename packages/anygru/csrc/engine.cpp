#include "engine.hpp"

#include <algorithm>

#define ANYGRU_VARIANT portable
#include "partition.hpp"
#include "plan.hpp"
#include "threads.hpp"
#include "variants.hpp"
#include "workspace.hpp"

namespace anygru {

namespace {

using portable::ScratchLayout;

Workspace& workspace() {
    thread_local Workspace memory;
    return memory;
}

// What a team works with; all of it lies in the workspace.
template <class Real>
struct Team {
    Barrier* all;
    Barrier* row_groups;
    Real* packed;
    Real* bias;
    Real* state;
    Real* held;
    Real* reset_state;
    Real* scratch;
};

Barrier* make_barriers(Parts& parts, int count, int members) {
    Barrier* barriers = parts.take<Barrier>(count);
    for (int i = 0; barriers && i < count; ++i) (new (barriers + i) Barrier)->set_members(members);
    return barriers;
}

Index padded(Index elements, Index element) {
    // Rows of a power of two would all fall into the same few sets of the cache.
    return elements + 64 / element;
}

template <class Real>
class ForwardRun {
public:
    ForwardRun(const ForwardArguments<Real>& arguments, const Kernels& kernels)
        : arguments_(arguments),
          shape_(arguments.shape),
          kernels_(kernels.of<Real>()),
          format_(arguments.packed ? *arguments.packed->format : kernels_for<Real>(shape_.precision)),
          plan_(make_plan(shape_, arguments.threads, kernels, kernels_.lanes, sizeof(Real), format_.weight_bytes,
                          arguments.packed != nullptr, arguments.reserve ? handed_on_and_kept : handed_on)),
          teams_(plan_.teams) {
        blocks_ = (shape_.hidden + kernels_.lanes - 1) / kernels_.lanes;
        pitch_ = padded(blocks_ * kernels_.lanes, sizeof(Real));
        if (shape_.sizes) {
            offsets_.resize(std::size_t(shape_.steps) + 1);
            for (Index t = 0; t < shape_.steps; ++t) offsets_[t + 1] = offsets_[t] + shape_.sizes[t];
        }
        Grid grid{plan_.division.row_groups, plan_.division.block_groups, nullptr, nullptr};
        operand_bytes_ = format_.operand_bytes(std::max(widest_input(), shape_.hidden), format_.terms);
        const ScratchLayout layout(shape_.batch, plan_.chunk, grid, blocks_, kernels_.lanes, kernels.tile_rows,
                                   kernels.depth_block, operand_bytes_, shape_.norm);
        scratch_size_ = layout.bytes(sizeof(Real)) / Index(sizeof(Real));
        Parts dry;
        lay_out(dry);
        Parts parts(workspace().reserve(dry.used()));
        lay_out(parts);
    }

    void run() {
        // Single steps of a stream or a cell go on with the weights that the last one ended with: they may still be
        // cached.
        thread_local bool from_the_end = false;
        from_the_end_ = from_the_end = !from_the_end;
        run_threads(
            plan_.threads(), [](void* self, int thread) { static_cast<ForwardRun*>(self)->work(thread); }, this);
        workspace().trim();
    }

private:
    void lay_out(Parts& parts) {
        const int members = plan_.division.threads();
        everybody_ = make_barriers(parts, 1, plan_.threads());
        progress_ = parts.take<Progress>(shape_.layers);
        for (int layer = 0; progress_ && layer < shape_.layers; ++layer) new (progress_ + layer) Progress;
        // What is read once or twice is not worth packing: one step reads every weight once, a chunk those of its
        // input.
        // Terms have to be made, even for a single step.
        const bool terms = format_.terms.weight > 0;
        const bool packs = (shape_.steps > 1 || terms) && !arguments_.packed;
        packs_input_ = arguments_.packed || terms || shape_.steps > 2 * plan_.chunk;
        for (Team<Real>& team : teams_) {
            team.all = make_barriers(parts, 1, members);
            team.row_groups = make_barriers(parts, plan_.division.row_groups, plan_.division.block_groups);
            team.packed = packs ? parts.take<Real>(panel_elements()) : nullptr;
            team.bias = arguments_.packed ? nullptr : parts.take<Real>(blocks_ * 4 * kernels_.lanes);
            team.state = parts.take<Real>(2 * shape_.batch * pitch_);
            team.held = arguments_.modifiers.mask ? parts.take<Real>(shape_.batch * pitch_) : nullptr;
            team.reset_state = shape_.reset_before ? parts.take<Real>(2 * shape_.batch * pitch_) : nullptr;
            team.scratch = parts.take<Real>(members * scratch_size_);
        }
        if (!arguments_.reserve && shape_.layers > 1) {
            const Index between = shape_.rows * shape_.directions * shape_.hidden;
            const int buffers = plan_.pipelined ? shape_.layers - 1 : std::min(shape_.layers - 1, 2);
            between_ = parts.take<Real>(buffers * between);
            between_buffers_ = buffers;
        }
    }

    // Room for the packed weights of the widest layer.
    Index panel_elements() const {
        Forward<Real> call{};
        call.input_size = packs_input_ ? widest_input() : 0;
        call.hidden = shape_.hidden;
        call.reset_before = shape_.reset_before;
        call.terms = format_.terms;
        return (format_.packed_bytes(call) + Index(sizeof(Real)) - 1) / Index(sizeof(Real));
    }

    Index widest_input() const {
        return shape_.layers > 1 ? std::max(shape_.input_size, shape_.layer_input(1)) : shape_.input_size;
    }

    // Output of a layer that another layer reads: [rows, directions * H].
    Real* inner_output(int layer) const {
        const Index size = shape_.rows * shape_.directions * shape_.hidden;
        if (!arguments_.reserve) return between_ + (layer % between_buffers_) * size;
        return arguments_.reserve + shape_.layers * shape_.directions * shape_.rows * 4 * shape_.hidden + layer * size;
    }

    Norm<Real> norm(int place, const Real* const* gains) const {
        if (!shape_.norm) return {};
        if (!arguments_.packed) return {gains[0], gains[1]};
        const Real* packed = arguments_.packed->gains[place];
        return {packed, packed + 3 * shape_.hidden};
    }

    Real* norm_kept(int place) const {
        if (!shape_.norm || !arguments_.reserve) return nullptr;
        const Index all = Index(shape_.layers) * shape_.directions;
        Real* const kept = arguments_.reserve + reserve_size(shape_) - all * shape_.rows * norm_width(shape_.hidden);
        return kept + place * shape_.rows * norm_width(shape_.hidden);
    }

    void work(int thread) {
        const int members = plan_.division.threads();
        const int team = thread / members, member = thread % members;
        if (plan_.pipelined) {
            for (int layer = team; layer < shape_.layers; layer += plan_.teams) compute(team, member, layer, 0);
            return;
        }
        for (int layer = 0; layer < shape_.layers; ++layer) {
            for (int direction = 0; direction < shape_.directions; ++direction)
                if (direction % plan_.teams == team) compute(team, member, layer, direction);
            if (layer + 1 < shape_.layers && plan_.teams > 1) everybody_->wait();
        }
    }

    void compute(int number, int member, int layer, int direction) {
        const Team<Real>& team = teams_[number];
        const Index hidden = shape_.hidden, batch = shape_.batch;
        const int place = layer * shape_.directions + direction;
        const int given = shape_.weights_a_direction();
        const Real* const* weights = arguments_.weights.data() + place * given;
        Forward<Real> call{};
        call.sequence = {shape_.steps, batch, shape_.sizes, shape_.sizes ? offsets_.data() : nullptr};
        call.input_size = shape_.layer_input(layer);
        call.hidden = hidden;
        call.reverse = shape_.is_reverse(direction);
        call.reset_before = shape_.reset_before;
        call.activations = shape_.activations;
        const Index inner = shape_.directions * hidden;
        call.input = layer == 0 ? arguments_.input : Rows<const Real>{inner_output(layer - 1), batch * inner, inner};
        call.output =
            layer + 1 == shape_.layers ? arguments_.output : Rows<Real>{inner_output(layer), batch * inner, inner};
        call.input = call.input.from(shape_.input_at(layer, direction));
        call.output = call.output.from(direction * hidden);
        const bool apart = arguments_.state_row_stride != 0;
        const Index before = apart ? place * hidden : shape_.state_at(place);
        call.state_stride = shape_.state_stride();
        call.h_0 = arguments_.h_0 ? arguments_.h_0 + before : nullptr;
        call.h_n = arguments_.h_n + before;
        call.places = {arguments_.state_rows, apart ? arguments_.state_row_stride : call.state_stride};
        call.weight_ih = weights[0];
        call.weight_hh = weights[1];
        call.halves = arguments_.halves;
        call.bias_ih = shape_.bias ? weights[2] : nullptr;
        call.bias_hh = shape_.bias ? weights[3] : nullptr;
        call.kept = arguments_.reserve ? arguments_.reserve + place * shape_.rows * 4 * hidden : nullptr;
        call.modifiers = arguments_.modifiers.of(place, shape_);
        call.norm = norm(place, weights + given - 2);
        call.norm_kept = norm_kept(place);
        call.grid = {plan_.division.row_groups, plan_.division.block_groups, team.all, team.row_groups};
        call.from_the_end = from_the_end_;
        call.chunk = plan_.chunk;
        call.packed = arguments_.packed ? arguments_.packed->panels[place] : team.packed;
        call.packed_ready = arguments_.packed != nullptr;
        call.packs_input = packs_input_;
        call.operand_bytes = operand_bytes_;
        call.terms = format_.terms;
        call.bias = arguments_.packed ? arguments_.packed->biases[place] : team.bias;
        call.state = team.state;
        call.held = team.held;
        call.reset_state = team.reset_state;
        call.pitch = pitch_;
        call.scratch = team.scratch;
        call.scratch_size = scratch_size_;
        call.input_ready = plan_.pipelined && layer > 0 ? progress_ + layer - 1 : nullptr;
        call.output_ready = plan_.pipelined ? progress_ + layer : nullptr;
        format_.forward(call, member);
        // Nobody may start on the next layer's state before everybody is done with this one's.
        if (plan_.division.threads() > 1) team.all->wait();
    }

    const ForwardArguments<Real>& arguments_;
    const Shape& shape_;
    const KernelsOf<Real>& kernels_;
    const FormatKernels<Real>& format_;
    const Plan plan_;
    std::vector<Team<Real>> teams_;
    std::vector<Index> offsets_;
    Index blocks_ = 0, pitch_ = 0, operand_bytes_ = 0, scratch_size_ = 0;
    Barrier* everybody_ = nullptr;
    Progress* progress_ = nullptr;
    Real* between_ = nullptr;
    int between_buffers_ = 1;
    bool packs_input_ = false, from_the_end_ = false;
};

// In backward: making terms of the weights would take longer than the products of a few rows.
template <class Real>
const FormatKernels<Real>& kernels_for_rows(Precision precision, Index rows) {
    return kernels_for<Real>(rows <= few_rows ? Precision::highest : precision);
}

template <class Real>
class BackwardRun {
public:
    BackwardRun(const BackwardArguments<Real>& arguments, const Kernels& kernels)
        : arguments_(arguments),
          shape_(arguments.shape),
          kernels_(kernels.of<Real>()),
          format_(kernels_for_rows<Real>(shape_.precision, shape_.rows)) {
        const int threads = useful_threads(arguments.threads, shape_, sizeof(Real), false);
        if (shape_.directions >= 2 && threads >= 2) teams_.resize(std::size_t(std::min(shape_.directions, threads)));
        const int own = threads / int(teams_.size());
        division_ = divide(own, shape_, kernels_.lanes, kernels.tile_rows, sizeof(Real), sizeof(Real), handed_back,
                           costs_of(own));
        blocks_ = (shape_.hidden + kernels_.lanes - 1) / kernels_.lanes;
        pitch_ = padded(blocks_ * kernels_.lanes, sizeof(Real));
        if (shape_.sizes) {
            offsets_.resize(std::size_t(shape_.steps) + 1);
            for (Index t = 0; t < shape_.steps; ++t) offsets_[t + 1] = offsets_[t] + shape_.sizes[t];
        }
        const Grid grid{division_.row_groups, division_.block_groups, nullptr, nullptr};
        operand_bytes_ = format_.operand_bytes(3 * shape_.hidden, format_.terms);
        const ScratchLayout layout(shape_.batch, 1, grid, blocks_, kernels_.lanes, kernels.tile_rows,
                                   kernels.depth_block, operand_bytes_);
        scratch_size_ = layout.bytes(sizeof(Real)) / Index(sizeof(Real));
        Parts dry;
        lay_out(dry);
        Parts parts(workspace().reserve(dry.used()));
        lay_out(parts);
    }

    void run() {
        run_threads(
            int(teams_.size()) * division_.threads(),
            [](void* self, int thread) { static_cast<BackwardRun*>(self)->work(thread); }, this);
        workspace().trim();
    }

private:
    void lay_out(Parts& parts) {
        const int members = division_.threads();
        for (Team<Real>& team : teams_) {
            team.all = make_barriers(parts, 1, members);
            team.row_groups = make_barriers(parts, division_.row_groups, division_.block_groups);
            team.packed = in_place() ? nullptr : parts.take<Real>(panel_elements());
            team.state = parts.take<Real>(shape_.batch * pitch_);
            team.scratch = parts.take<Real>(members * scratch_size_);
        }
    }

    // One or two steps of few rows are not worth packing for, where all blocks are whole; nor what is not multiplied.
    bool in_place() const {
        constexpr double worth_packing = 6e6;  // multiply-adds
        if (shape_.steps == 1 && !arguments_.multiplies_last && !shape_.reset_before) return true;
        return shape_.steps <= 2 && double(shape_.rows) * 3 * double(shape_.hidden * shape_.hidden) < worth_packing &&
               shape_.hidden % kernels_.lanes == 0 && format_.terms.weight == 0;
    }

    Index panel_elements() const {
        Backward<Real> call{};
        call.hidden = shape_.hidden;
        call.reset_before = shape_.reset_before;
        call.terms = format_.terms;
        return (format_.column_bytes(call) + Index(sizeof(Real)) - 1) / Index(sizeof(Real));
    }

    void work(int thread) {
        const int members = division_.threads();
        const int team = thread / members, member = thread % members;
        for (int direction = 0; direction < shape_.directions; ++direction)
            if (direction % int(teams_.size()) == team) compute(teams_[team], member, direction);
    }

    void compute(const Team<Real>& team, int member, int direction) {
        const Index hidden = shape_.hidden, batch = shape_.batch, rows = shape_.rows;
        Backward<Real> call{};
        call.sequence = {shape_.steps, batch, shape_.sizes, shape_.sizes ? offsets_.data() : nullptr};
        call.hidden = hidden;
        call.reverse = shape_.is_reverse(direction);
        call.reset_before = shape_.reset_before;
        call.activations = shape_.activations;
        call.grad_output = arguments_.grad_output.from(direction * hidden);
        call.state_stride = shape_.state_stride();
        call.grad_h_n = arguments_.grad_h_n ? arguments_.grad_h_n + shape_.state_at(direction) : nullptr;
        call.output = arguments_.output.from(direction * hidden);
        call.h_0 = arguments_.h_0 + shape_.state_at(direction);
        call.weight_hh = arguments_.weights_hh[direction];
        call.kept = arguments_.kept + direction * rows * 4 * hidden;
        call.grad_gates =
            arguments_.grad_gates + direction * rows * gate_columns(shape_.reset_before, shape_.norm) * hidden;
        call.previous = arguments_.previous ? arguments_.previous + direction * rows * hidden : nullptr;
        call.modifiers = arguments_.modifiers.of(direction, shape_);
        if (shape_.norm) {
            call.norm = {arguments_.gains[2 * direction], arguments_.gains[2 * direction + 1]};
            call.norm_kept = arguments_.norm_kept + direction * rows * norm_width(hidden);
            call.grad_norms = arguments_.grad_norms + direction * norm_tiles(batch) * 12 * hidden;
        }
        call.grad_decay = arguments_.grad_decay ? arguments_.grad_decay + direction * rows * hidden : nullptr;
        call.grad_offset = arguments_.grad_offset ? arguments_.grad_offset + direction * rows * hidden : nullptr;
        call.grad_h_0 = arguments_.grad_h_0 + shape_.state_at(direction);
        call.multiplies_last = arguments_.multiplies_last;
        call.terms = format_.terms;
        call.operand_bytes = operand_bytes_;
        call.clipping = arguments_.clipping;
        call.grid = {division_.row_groups, division_.block_groups, team.all, team.row_groups};
        call.packed = team.packed;
        call.carry = team.state;
        call.pitch = pitch_;
        call.scratch = team.scratch;
        call.scratch_size = scratch_size_;
        format_.backward(call, member);
        if (division_.threads() > 1) team.all->wait();
    }

    const BackwardArguments<Real>& arguments_;
    const Shape& shape_;
    const KernelsOf<Real>& kernels_;
    const FormatKernels<Real>& format_;
    std::vector<Team<Real>> teams_ = std::vector<Team<Real>>(1);
    Division division_;
    std::vector<Index> offsets_;
    Index blocks_ = 0, pitch_ = 0, operand_bytes_ = 0, scratch_size_ = 0;
};

}  // namespace

Index reserve_size(const Shape& shape) {
    const Index gates = Index(shape.layers) * shape.directions * shape.rows * 4 * shape.hidden;
    const Index norms = shape.norm ? Index(shape.layers) * shape.directions * shape.rows * norm_width(shape.hidden) : 0;
    return gates + Index(shape.layers - 1) * shape.rows * shape.directions * shape.hidden + norms;
}

template <class Real>
void forward(const ForwardArguments<Real>& arguments) {
    const Shape& shape = arguments.shape;
    if (shape.batch == 0) return;  // nothing to compute, in any number of steps
    const Index features = shape.directions * shape.hidden;
    if (arguments.output.row_stride == features)
        use_large_pages(arguments.output.data, sizeof(Real) * std::size_t(shape.rows * features));
    if (arguments.reserve) use_large_pages(arguments.reserve, sizeof(Real) * std::size_t(reserve_size(shape)));
    ForwardRun<Real>(arguments, kernels()).run();
}

template <class Real>
void backward(const BackwardArguments<Real>& arguments) {
    const Shape& shape = arguments.shape;
    if (shape.batch == 0) return;
    const Index units = shape.rows * shape.directions * shape.hidden;
    use_large_pages(arguments.grad_gates,
                    sizeof(Real) * std::size_t(gate_columns(shape.reset_before, shape.norm) * units));
    if (arguments.previous) use_large_pages(arguments.previous, sizeof(Real) * std::size_t(units));
    BackwardRun<Real>(arguments, kernels()).run();
}

template <class Real>
void gradients(Gradients<Real> call, int threads) {
    const FormatKernels<Real>& format = kernels_for_rows<Real>(call.precision, call.rows);
    call.members = gradient_threads(threads, call.rows, call.input_size, call.hidden);
    call.terms = format.terms;
    call.scratch_size = format.gradient_scratch(call);
    call.scratch =
        Parts(workspace().reserve(sizeof(Real) * std::size_t(call.scratch_size * call.members))).take<Real>(0);
    struct Run {
        const Gradients<Real>& call;
        void (*kernel)(const Gradients<Real>&, int);
    } run{call, format.gradients};
    run_threads(
        call.members,
        [](void* self, int member) {
            const Run& own = *static_cast<Run*>(self);
            own.kernel(own.call, member);
        },
        &run);
    workspace().trim();
}

const void* variant_in_use() { return &kernels(); }

template void forward(const ForwardArguments<float>&);
template void forward(const ForwardArguments<double>&);
template void backward(const BackwardArguments<float>&);
template void backward(const BackwardArguments<double>&);
template void gradients(Gradients<float>, int);
template void gradients(Gradients<double>, int);

}  // namespace anygru
