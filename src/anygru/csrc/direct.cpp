// Calls that take torch's tensors as they are, check them, allocate the results and compute, all at once. What they do
// not take they decline with None, before anything has changed: the general way of Python then computes it, or says
// what is wrong.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "engine.hpp"
#include "operands.hpp"
#include "tensors.hpp"
#include "workspace.hpp"

namespace anygru {

namespace {

constexpr Index rows_at_once = 2048;

// A new tensor of the input's kind.
template <class... Sizes>
nb::object new_tensor(nb::handle like, Sizes... sizes) {
    static PyObject* const name = PyUnicode_InternFromString("new_empty");
    const nb::int_ numbers[] = {nb::int_(sizes)...};
    PyObject* arguments[1 + sizeof...(sizes)] = {like.ptr()};
    for (std::size_t i = 0; i < sizeof...(sizes); ++i) arguments[i + 1] = numbers[i].ptr();
    PyObject* made = PyObject_VectorcallMethod(name, arguments, 1 + sizeof...(sizes), nullptr);
    if (!made) throw nb::python_error();
    return nb::steal(made);
}

// Packed weights for an input of so many features.
template <class Real>
bool take_packed(nb::handle weights, ForwardArguments<Real>& arguments) {
    const auto* stored = dynamic_cast<const StoredWeights<Real>*>(nb::inst_ptr<Stored>(weights));
    if (!stored || stored->packed->shape.input_size != arguments.shape.input_size) return false;
    if (stored->packed->variant != variant_in_use()) refuse("packed weights were made for another instruction set");
    const Shape given = arguments.shape;
    Shape& shape = arguments.shape;
    shape = stored->packed->shape;
    shape.steps = given.steps, shape.batch = given.batch, shape.rows = given.rows;
    arguments.weights.resize(std::size_t(shape.layers) * shape.directions * shape.weights_a_direction());
    arguments.packed = stored->packed.get();
    return true;
}

// Weights of a plain call, or packed ones, into `arguments`; false where one is not what its place asks for.
template <class Real>
bool take_weights(nb::handle weights, const Kind& kind, ForwardArguments<Real>& arguments) {
    if (nb::isinstance<Stored>(weights)) return take_packed(weights, arguments);
    Shape& shape = arguments.shape;
    shape.directions = kind.bidirectional ? 2 : 1;
    shape.bias = kind.bias;
    shape.norm = kind.norm;
    shape.reset_before = kind.reset_before;
    shape.reverse = kind.reverse;
    const bool list = PyList_CheckExact(weights.ptr());
    if (!list && !PyTuple_CheckExact(weights.ptr())) return false;
    const Index count = PySequence_Fast_GET_SIZE(weights.ptr()), each = shape.weights_a_direction();
    if (count == 0 || count % (each * shape.directions)) return false;
    shape.layers = int(count / (each * shape.directions));
    arguments.weights.resize(std::size_t(count));
    for (Index i = 0; i < count; ++i) {
        TensorView view;
        PyObject* const weight =
            list ? PyList_GET_ITEM(weights.ptr(), Py_ssize_t(i)) : PyTuple_GET_ITEM(weights.ptr(), Py_ssize_t(i));
        if (!view_of(weight, view) || view.numel() == 0 || view.bits != 8 * sizeof(Real) || !view.contiguous())
            return false;
        const Index kind = i % each;
        if (i == 0) {
            if (view.dimensions != 2 || view.shape[0] % 3) return false;
            shape.hidden = view.shape[0] / 3;
        }
        if (kind > 1
                ? !view.is(3 * shape.hidden)
                : !view.is(3 * shape.hidden, kind ? shape.hidden : shape.layer_input(int(i / each / shape.directions))))
            return false;
        arguments.weights[std::size_t(i)] = view.at<const Real>();
    }
    return true;
}

template <class Real>
nb::object dense(nb::handle input, const TensorView& given, nb::handle h_0, nb::handle weights, const Kind& kind,
                 Index threads, bool keep, nb::handle modified) {
    ForwardArguments<Real> arguments{};
    Shape& shape = arguments.shape;
    shape.steps = given.shape[0], shape.batch = given.shape[1], shape.input_size = given.shape[2];
    shape.rows = shape.steps * shape.batch;
    const bool gaps = given.strides[2] != 1 && shape.input_size != 1;
    if (gaps || shape.rows == 0 || shape.input_size == 0) return nb::none();
    arguments.input = {given.at<const Real>(), given.strides[0], given.strides[1]};
    if (!take_weights<Real>(weights, kind, arguments)) return nb::none();
    if (!modified.is_none()) arguments.modifiers = modifiers<Real>(Arguments(nb::cast<nb::dict>(modified)), shape);
    const Index states = shape.layers * shape.directions, features = shape.directions * shape.hidden;
    TensorView view;
    if (!h_0.is_none()) {
        if (!view_of(h_0.ptr(), view) || view.bits != given.bits || !view.is(states, shape.batch, shape.hidden) ||
            !view.contiguous())
            return nb::none();
        arguments.h_0 = view.at<const Real>();
    }
    const nb::object output = new_tensor(input, shape.steps, shape.batch, features);
    const nb::object h_n = new_tensor(input, states, shape.batch, shape.hidden);
    if (!view_of_new(output.ptr(), view)) return nb::none();
    arguments.output = {view.at<Real>(), shape.batch * features, features};
    if (!view_of_new(h_n.ptr(), view)) return nb::none();
    arguments.h_n = view.at<Real>();
    nb::object reserve;
    if (keep) {
        reserve = new_tensor(input, reserve_size(shape));
        if (!view_of_new(reserve.ptr(), view)) return nb::none();
        arguments.reserve = view.at<Real>();
    }
    arguments.threads = thread_count(threads);
    {
        nb::gil_scoped_release release;
        anygru::forward(arguments);
    }
    PyObject* results = PyTuple_Pack(keep ? 3 : 2, output.ptr(), h_n.ptr(), reserve.ptr());
    if (!results) throw nb::python_error();
    return nb::steal(results);
}

// One step from h [B, H] or [H] (none: zero); output and final state are one tensor. With `keep` also the reserve.
template <class Real>
nb::object cell(nb::handle input, const TensorView& given, nb::handle h, nb::handle weights, const Kind& kind,
                Index threads, bool keep) {
    ForwardArguments<Real> arguments{};
    Shape& shape = arguments.shape;
    const bool batched = given.dimensions == 2;
    shape.steps = 1, shape.batch = shape.rows = batched ? given.shape[0] : 1, shape.input_size = given.shape[batched];
    const bool gaps = given.strides[batched] != 1 && shape.input_size != 1;
    if (gaps || shape.rows == 0 || shape.input_size == 0) return nb::none();
    arguments.input = {given.at<const Real>(), 0, batched ? given.strides[0] : 0};
    if (!take_weights<Real>(weights, kind, arguments) || shape.layers * shape.directions != 1) return nb::none();
    TensorView view;
    if (!h.is_none()) {
        if (!view_of(h.ptr(), view) || view.bits != given.bits || !view.contiguous() ||
            !(batched ? view.is(shape.batch, shape.hidden) : view.is(shape.hidden)))
            return nb::none();
        arguments.h_0 = view.at<const Real>();
    }
    const nb::object output = batched ? new_tensor(input, shape.batch, shape.hidden) : new_tensor(input, shape.hidden);
    if (!view_of_new(output.ptr(), view)) return nb::none();
    arguments.h_n = view.at<Real>();
    arguments.output = {arguments.h_n, shape.rows * shape.hidden, shape.hidden};
    nb::object reserve;
    if (keep) {
        reserve = new_tensor(input, reserve_size(shape));
        if (!view_of_new(reserve.ptr(), view)) return nb::none();
        arguments.reserve = view.at<Real>();
    }
    arguments.threads = thread_count(threads);
    {
        nb::gil_scoped_release release;
        anygru::forward(arguments);
    }
    if (!keep) return output;
    PyObject* results = PyTuple_Pack(2, output.ptr(), reserve.ptr());
    if (!results) throw nb::python_error();
    return nb::steal(results);
}

// The next steps of a stream: `state` [L, B, H] goes on in place. None where a tensor is not what the stream needs.
template <class Real>
nb::object advance(const StoredWeights<Real>& stored, nb::handle input, const TensorView& given, nb::handle state,
                   bool many, bool batched, Index threads) {
    if (stored.packed->variant != variant_in_use()) refuse("packed weights were made for another instruction set");
    ForwardArguments<Real> arguments{};
    Shape& shape = arguments.shape;
    shape = stored.packed->shape;
    shape.steps = many ? given.shape[0] : 1;
    shape.batch = batched ? given.shape[many] : 1;
    shape.rows = shape.steps * shape.batch;
    const int last = given.dimensions - 1;
    const bool gaps = given.strides[last] != 1 && shape.input_size != 1;
    if (given.shape[last] != shape.input_size || shape.rows == 0 || gaps || shape.directions != 1) return nb::none();
    TensorView view;
    if (!view_of(state.ptr(), view) || view.bits != given.bits || !view.contiguous() ||
        !view.is(shape.layers, shape.batch, shape.hidden))
        return nb::none();
    arguments.h_0 = arguments.h_n = view.at<Real>();
    arguments.input = {given.at<const Real>(), many ? given.strides[0] : 0, batched ? given.strides[many] : 0};
    const nb::object output = many && batched ? new_tensor(input, shape.steps, shape.batch, shape.hidden)
                              : many          ? new_tensor(input, shape.steps, shape.hidden)
                              : batched       ? new_tensor(input, shape.batch, shape.hidden)
                                              : new_tensor(input, shape.hidden);
    if (!view_of_new(output.ptr(), view)) return nb::none();
    arguments.output = {view.at<Real>(), shape.batch * shape.hidden, shape.hidden};
    arguments.weights.resize(std::size_t(shape.layers) * shape.weights_a_direction());
    arguments.packed = stored.packed.get();
    arguments.threads = thread_count(threads);
    {
        nb::gil_scoped_release release;
        anygru::forward(arguments);
    }
    return output;
}

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

// Gates [rows, width] of the gradient, of which the last 3H are the input's, times weight_ih [3H, I], by torch's own
// product, in the input's shape.
nb::object gradient_of_input(const nb::object& gates, nb::handle weight_ih, nb::handle input, Index hidden,
                             Index width) {
    return gates.attr("narrow")(1, width - 3 * hidden, 3 * hidden).attr("mm")(weight_ih).attr("view_as")(input);
}

// Adds the gates' share to the gradient of the state before a step with reset="after", by torch's own products.
void add_to_gradient_of_state(const nb::object& gradient, const nb::object& gates, nb::handle weight_hh, Index hidden) {
    const nb::object sum = gradient.attr("view")(-1, hidden);
    const auto add = [&](Index column, Index row, Index count) {
        sum.attr("addmm_")(gates.attr("narrow")(1, column, count), weight_hh.attr("narrow")(0, row, count));
    };
    add(hidden, 0, 2 * hidden);  // r, z
    add(0, 2 * hidden, hidden);  // the candidate
}

// From so many multiply-adds on they are faster than ours, which does not block so large a product for the cache.
constexpr double worth_torch = 6e6;

// What a backward pass of one layer in one direction works with.
template <class Real>
struct LayerGradients {
    BackwardArguments<Real> back{};
    Gradients<Real> sums{};
    nb::object input, weight_ih, weight_hh;
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
    auto& [back, sums, input, weight_ih, weight_hh, view, needs, gives_gates] = call;
    const Shape& shape = back.shape;
    const Index rows = shape.rows, batch = shape.batch, hidden = shape.hidden, width = shape.input_size;
    const Index each = gate_columns(shape.reset_before, shape.norm) * hidden, states = batch * hidden;
    const Index norms = shape.norm ? norm_tiles(batch) * 12 * hidden : 0;
    const bool few = rows <= few_rows, first_state = !back.h_0, one_step = shape.steps == 1;
    const bool torch_multiplies = needs[0] && !few;
    // What the products of the state read: h_0 itself, if it is not changed before the only step.
    const bool reads_h_0 = one_step && !back.modifiers.decay.data && !back.modifiers.mask;
    const bool torch_adds =
        needs[1] && reads_h_0 && !few && !shape.reset_before && double(states) * 3 * double(hidden) >= worth_torch;
    back.multiplies_last = needs[1] && !torch_adds;
    nb::object gates;
    if (gives_gates || torch_multiplies || torch_adds) gates = result(true, back.grad_gates, input, rows, each);
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
    found.push_back(result_like(needs[0] && few, sums.input_gradient, input, view, shape.steps, width));
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
    if (torch_multiplies) found[0] = gradient_of_input(gates, weight_ih, input, hidden, each);
    if (shape.norm) push_gradients_of_norm(call, found);
    memory.trim();
    if (torch_adds) add_to_gradient_of_state(found[1], gates, weight_hh, hidden);
    if (gives_gates) found.push_back(gates);
    nb::list results;
    for (nb::object& one : found) results.append(std::move(one));
    return results;
}

// Gradients of (input, h_0, *weights), None where `needs` says so, of a dense call that is one layer in one direction,
// or of a cell's step; None for any other. With `gives_gates` also those of the gates, [rows, gate_columns * H].
template <class Real>
nb::object backward_of_layer(const Arguments& given, const TensorView& view) {
    const Kind& kind = nb::cast<const Kind&>(given.get(keys::kind));
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
    if (!take(given, keys::input, view.numel(), sums.input) || !take(given, keys::h_0, states, back.h_0) ||
        !take(given, keys::output, units, back.output.data) ||
        !take(given, keys::reserve, reserve_size(shape), back.kept) ||
        !take(given, keys::grad_output, units, back.grad_output.data) ||
        !take(given, keys::grad_h_n, states, back.grad_h_n))
        return nb::none();
    if (!back.kept || (!back.output.data && shape.steps > 1)) refuse("reserve and output are missing");
    call.needs = nb::cast<std::vector<bool>>(given.get(keys::needs));
    if (call.needs.size() != 2 + forward.weights.size())
        refuse("needs must have one value for the input, h_0 and each weight");
    back.shape = shape;
    back.modifiers = modifiers<Real>(given, shape);
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
    sums.kept = back.kept;
    sums.weight_ih = forward.weights[0];
    call.input = nb::borrow(given.get(keys::input));
    call.weight_ih = given.get(keys::weights)[0];
    call.weight_hh = given.get(keys::weights)[1];
    call.view = view;
    call.gives_gates = given.find(keys::gives_gates).ptr() == Py_True;
    return compute_gradients(call);
}

}  // namespace

void define_direct_calls(nb::module_& m) {
    m.def(
        "dense",
        [](nb::handle input, nb::handle h_0, nb::handle weights, const Kind& kind, Index threads, bool keep,
           nb::handle modified) -> nb::object {
            TensorView view;
            if (!view_of(input.ptr(), view) || view.dimensions != 3) return nb::none();
            const auto compute = view.bits == 32 ? &dense<float> : &dense<double>;
            return compute(input, view, h_0, weights, kind, threads, keep, modified);
        },
        nb::arg("input"), nb::arg("h_0").none(), nb::arg("weights"), nb::arg("kind"), nb::arg("threads"),
        nb::arg("keep"), nb::arg("modifiers") = nb::none());

    m.def(
        "cell",
        [](nb::handle input, nb::handle h, nb::handle weights, const Kind& kind, Index threads,
           bool keep) -> nb::object {
            TensorView view;
            if (!view_of(input.ptr(), view) || view.dimensions < 1 || view.dimensions > 2) return nb::none();
            return (view.bits == 32 ? &cell<float> : &cell<double>)(input, view, h, weights, kind, threads, keep);
        },
        nb::arg("input"), nb::arg("h").none(), nb::arg("weights"), nb::arg("kind"), nb::arg("threads"),
        nb::arg("keep"));

    m.def(
        "backward_of_layer",
        [](nb::dict call) -> nb::object {
            const Arguments given(std::move(call));
            TensorView view;
            if (!view_of(given.get(keys::input).ptr(), view) || view.dimensions < 1 || view.dimensions > 3)
                return nb::none();
            return (view.bits == 32 ? &backward_of_layer<float> : &backward_of_layer<double>)(given, view);
        },
        nb::arg("call"));

    m.def(
        "advance",
        [](const Stored& stored, nb::handle input, nb::handle state, bool many, bool batched,
           Index threads) -> nb::object {
            TensorView view;
            if (!view_of(input.ptr(), view) || view.dimensions != 1 + many + batched) return nb::none();
            if (const auto* single = dynamic_cast<const StoredWeights<float>*>(&stored); single && view.bits == 32)
                return advance(*single, input, view, state, many, batched, threads);
            if (const auto* twice = dynamic_cast<const StoredWeights<double>*>(&stored); twice && view.bits == 64)
                return advance(*twice, input, view, state, many, batched, threads);
            return nb::none();
        },
        nb::arg("weights"), nb::arg("input"), nb::arg("state"), nb::arg("many"), nb::arg("batched"),
        nb::arg("threads"));
}

}  // namespace anygru
