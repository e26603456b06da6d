// The backward pass of a layer or cell in one call; see direct.cpp.
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "direct.hpp"
#include "workspace.hpp"

namespace anygru {

namespace {

constexpr Index rows_at_once = 2048;

// A plain tensor of so many elements into `at`, which stays as it is for an argument that is left out. False for
// anything else.
template <class Real>
bool take(const Arguments& given, const Key& key, Index numel, const Real*& at) {
    const nb::handle tensor = given.find(key);
    if (!tensor.is_valid()) return true;
    TensorView view;
    if (!view_of(tensor.ptr(), view) || view.bits != 8 * sizeof(Real) || !view.contiguous() || view.numel() != numel)
        return false;
    at = view.at<const Real>();
    return true;
}

// A new tensor if it is wanted, and its memory into `at`; else None.
template <class Real, class... Sizes>
nb::object result(bool wanted, Real*& at, nb::handle like, Sizes... sizes) {
    if (!wanted) return nb::none();
    nb::object made = new_tensor(like, sizes...);
    TensorView view;
    if (!view_of_new(made.ptr(), view)) refuse("new_empty gave no plain tensor");
    at = view.at<Real>();
    return made;
}

// The same with the last size another one, for a step without a batch [width], a step [B, width] or a sequence.
template <class Real>
nb::object result_like(bool wanted, Real*& at, nb::handle like, const TensorView& view, Index steps, Index width) {
    if (view.dimensions == 1) return result(wanted, at, like, width);
    if (view.dimensions == 2) return result(wanted, at, like, view.shape[0], width);
    return result(wanted, at, like, steps, view.shape[1], width);
}

// What a backward pass of one layer in one direction works with.
template <class Real>
struct LayerGradients {
    BackwardArguments<Real> back{};
    Gradients<Real> sums{};
    nb::object input;
    TensorView view;  // of the input
    std::vector<bool> needs;
    bool gives_gates;  // as a last result
};

// Gradients of biases and gains of a layer norm, summed over the tiles of the batch.
template <class Real>
void push_gradients_of_norm(const LayerGradients<Real>& call, std::vector<nb::object>& found) {
    static constexpr int places[] = {2, 3, 0, 1};  // of bias_ih, bias_hh, gain_ih, gain_hh among the sums
    const Shape& shape = call.back.shape;
    const Index width = 3 * shape.hidden;
    for (int i = shape.bias ? 0 : 2; i < 4; ++i) {
        Real* sum = nullptr;
        found.push_back(result(call.needs[found.size()], sum, call.input, width));
        const Real* tile = call.back.grad_norms + places[i] * width;
        if (sum) std::copy_n(tile, width, sum);
        for (Index left = norm_tiles(shape.batch) - 1; sum && left > 0; --left) {
            tile += 4 * width;
            for (Index at = 0; at < width; ++at) sum[at] += tile[at];
        }
    }
}

// Makes the results, computes them with memory for what lies between, and gives a list.
template <class Real>
nb::object compute_gradients(LayerGradients<Real>& call) {
    auto& [back, sums, input, view, needs, gives_gates] = call;
    const Shape& shape = back.shape;
    const Index rows = shape.rows, batch = shape.batch, hidden = shape.hidden, width = shape.input_size;
    const Index each = gate_columns(shape.reset_before, shape.norm) * hidden, states = batch * hidden;
    const Index norms = shape.norm ? norm_tiles(batch) * 12 * hidden : 0;
    const bool first_state = !back.h_0;
    // What the products of the state read: h_0 itself, if it is not changed before the only step.
    const bool reads_h_0 = shape.steps == 1 && !back.modifiers.decay.data && !back.modifiers.mask;
    back.multiplies_last = needs[1];
    nb::object gates;
    if (gives_gates) gates = result(true, back.grad_gates, input, rows, each);
    const Index own = gates.is_valid() ? 0 : rows * each;
    const Index needed = own + (first_state ? states : 0) + (reads_h_0 ? 0 : rows * hidden) + states + norms;
    thread_local Workspace memory;
    Real* free = reinterpret_cast<Real*>(memory.reserve(sizeof(Real) * std::size_t(needed)));
    if (!gates.is_valid()) back.grad_gates = free, free += own;
    if (first_state) std::fill_n(free, states, Real(0)), back.h_0 = free, free += states;
    if (!reads_h_0) back.previous = free, free += rows * hidden;
    back.grad_h_0 = free;
    back.grad_norms = free + states;
    std::fill_n(back.grad_norms, norms, Real(0));
    sums.gates = back.grad_gates;
    sums.previous = reads_h_0 ? back.h_0 : back.previous;
    std::vector<nb::object> found;
    found.push_back(result_like(needs[0], sums.input_gradient, input, view, shape.steps, width));
    found.push_back(result_like(needs[1], back.grad_h_0, input, view, 1, hidden));
    found.push_back(result(needs[2], sums.weight_ih_gradient, input, 3 * hidden, width));
    found.push_back(result(needs[3], sums.weight_hh_gradient, input, 3 * hidden, hidden));
    if (shape.bias && !shape.norm) {
        found.push_back(result(needs[4], sums.bias_ih_gradient, input, 3 * hidden));
        found.push_back(result(needs[5], sums.bias_hh_gradient, input, 3 * hidden));
    }
    const bool wants_sums = sums.input_gradient || sums.weight_ih_gradient || sums.weight_hh_gradient ||
                            sums.bias_ih_gradient || sums.bias_hh_gradient;
    {
        nb::gil_scoped_release release;
        anygru::backward(back);
        if (wants_sums) anygru::gradients(sums, back.threads);
    }
    if (shape.norm) push_gradients_of_norm(call, found);
    memory.trim();
    if (gives_gates) found.push_back(gates);
    nb::list results;
    for (nb::object& one : found) results.append(std::move(one));
    return results;
}

// Gradients of (input, h_0, *weights), None where `needs` says so, of a dense call that is one layer in one direction,
// or of a cell's step; None for any other. With `gives_gates` also those of the gates, [rows, gate_columns * H].
template <class Real>
nb::object backward_of_layer(const Arguments& given, const TensorView& view) {
    const Kind& kind = given.kind();
    ForwardArguments<Real> forward{};
    Shape& shape = forward.shape;
    const int last = view.dimensions - 1;
    shape.steps = last == 2 ? view.shape[0] : 1;
    shape.batch = last ? view.shape[last - 1] : 1;
    shape.input_size = view.shape[last];
    shape.rows = shape.steps * shape.batch;
    // The gradients of the gates of more rows would leave the cache before the sums read them.
    const bool long_one = shape.rows > rows_at_once && shape.steps > 1;
    if (shape.rows == 0 || long_one || shape.input_size == 0) return nb::none();
    if (!take_weights<Real>(given.get(keys::weights), kind, forward) || shape.layers * shape.directions != 1)
        return nb::none();
    const Index states = shape.batch * shape.hidden, units = shape.rows * shape.hidden;
    LayerGradients<Real> call;
    BackwardArguments<Real>& back = call.back;
    Gradients<Real>& sums = call.sums;
    call.needs = given.as<std::vector<bool>>(keys::needs, "a list of flags");
    if (call.needs.size() != 2 + forward.weights.size())
        refuse("needs must have one value for the input, h_0 and each weight");
    // Only the gradient of weight_ih reads the input: otherwise its strides do not matter.
    if (call.needs[2] && !take(given, keys::input, view.numel(), sums.input)) return nb::none();
    if (!take(given, keys::h_0, states, back.h_0) || !take(given, keys::output, units, back.output.data) ||
        !take(given, keys::reserve, reserve_size(shape), back.kept) ||
        !take(given, keys::grad_output, units, back.grad_output.data) ||
        !take(given, keys::grad_h_n, states, back.grad_h_n))
        return nb::none();
    if (!back.kept || (!back.output.data && shape.steps > 1)) refuse("reserve and output are missing");
    back.shape = shape;
    back.modifiers = modifiers<Real>(given, shape);
    back.clipping = Real(given.real(keys::clipping));
    back.output.step_stride = back.grad_output.step_stride = states;
    back.output.row_stride = back.grad_output.row_stride = shape.hidden;
    back.weights_hh = {forward.weights[1]};
    if (shape.norm) {
        back.gains.assign(forward.weights.end() - 2, forward.weights.end());
        back.norm_kept = back.kept + 4 * units;
    }
    back.threads = thread_count(given.number(keys::threads));
    sums.rows = shape.rows, sums.input_size = shape.input_size, sums.hidden = shape.hidden;
    sums.reset_before = shape.reset_before, sums.norm = shape.norm;
    sums.precision = shape.precision;
    sums.kept = back.kept;
    sums.weight_ih = forward.weights[0];
    call.input = nb::borrow(given.get(keys::input));
    call.view = view;
    call.gives_gates = given.find(keys::gives_gates).ptr() == Py_True;
    return compute_gradients(call);
}

}  // namespace

void define_direct_backward(nb::module_& m) {
    m.def(
        "backward_of_layer",
        [](nb::dict call) -> nb::object {
            const Arguments given(std::move(call));
            TensorView view;
            if (!view_of(given.get(keys::input).ptr(), view) || view.bits == 16 || view.dimensions < 1 ||
                view.dimensions > 3)
                return nb::none();
            return (view.bits == 32 ? &backward_of_layer<float> : &backward_of_layer<double>)(given, view);
        },
        nb::arg("call"));
}

}  // namespace anygru
