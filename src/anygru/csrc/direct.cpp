// Calls that take torch's tensors as they are, check them, allocate the results and compute, all at once. What they do
// not take they decline with None, before anything has changed: the general way of Python then computes it, or says
// what is wrong.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <utility>
#include <vector>

#include "arguments.hpp"
#include "engine.hpp"
#include "operands.hpp"
#include "tensors.hpp"

namespace anygru {

namespace {

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

// Weights of a plain call into `arguments`; false where one is not what its place asks for.
template <class Real>
bool take_weights(nb::handle weights, const Kind& kind, ForwardArguments<Real>& arguments) {
    Shape& shape = arguments.shape;
    shape.directions = kind.bidirectional ? 2 : 1;
    shape.bias = kind.bias;
    shape.reset_before = kind.reset_before;
    shape.reverse = kind.reverse;
    const bool list = PyList_CheckExact(weights.ptr());
    if (!list && !PyTuple_CheckExact(weights.ptr())) return false;
    PyObject* const* items = list ? &PyList_GET_ITEM(weights.ptr(), 0) : &PyTuple_GET_ITEM(weights.ptr(), 0);
    const Index count = PySequence_Fast_GET_SIZE(weights.ptr()), each = shape.weights_a_direction();
    if (count == 0 || count % (each * shape.directions)) return false;
    shape.layers = int(count / (each * shape.directions));
    arguments.weights.resize(std::size_t(count));
    for (Index i = 0; i < count; ++i) {
        TensorView view;
        if (!view_of(items[i], view) || view.numel() == 0 || view.bits != 8 * sizeof(Real) || !view.contiguous())
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
                 Index threads, bool keep) {
    ForwardArguments<Real> arguments{};
    Shape& shape = arguments.shape;
    shape.steps = given.shape[0], shape.batch = given.shape[1], shape.input_size = given.shape[2];
    shape.rows = shape.steps * shape.batch;
    const bool gaps = given.strides[2] != 1 && shape.input_size != 1;
    if (gaps || shape.rows == 0 || shape.input_size == 0) return nb::none();
    arguments.input = {given.at<const Real>(), given.strides[0], given.strides[1]};
    if (!take_weights<Real>(weights, kind, arguments)) return nb::none();
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
    if (!view_of(output.ptr(), view)) return nb::none();
    arguments.output = {view.at<Real>(), shape.batch * features, features};
    if (!view_of(h_n.ptr(), view)) return nb::none();
    arguments.h_n = view.at<Real>();
    nb::object reserve;
    if (keep) {
        reserve = new_tensor(input, reserve_size(shape));
        if (!view_of(reserve.ptr(), view)) return nb::none();
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

// One step from h [B, H] or [H] (none: zero); output and final state are one tensor.
template <class Real>
nb::object cell(nb::handle input, const TensorView& given, nb::handle h, nb::handle weights, const Kind& kind,
                Index threads) {
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
    if (!view_of(output.ptr(), view)) return nb::none();
    arguments.h_n = view.at<Real>();
    arguments.output = {arguments.h_n, shape.rows * shape.hidden, shape.hidden};
    arguments.threads = thread_count(threads);
    {
        nb::gil_scoped_release release;
        anygru::forward(arguments);
    }
    return output;
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
    if (!view_of(output.ptr(), view)) return nb::none();
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
    if (!view_of(made.ptr(), view)) refuse("new_empty gave no plain tensor");
    at = view.at<Real>();
    return made;
}

// Makes the results, computes them with memory for what lies between, and gives a list.
template <class Real>
nb::object gradients_of_few(BackwardArguments<Real>& back, Gradients<Real>& sums, nb::handle like,
                            const std::vector<bool>& needs) {
    const Shape& shape = back.shape;
    const Index rows = shape.rows, batch = shape.batch, hidden = shape.hidden, gates = shape.reset_before ? 3 : 4;
    std::vector<Real> memory(std::size_t((rows * (gates + 1) + batch) * hidden));
    sums.gates = back.grad_gates = memory.data();
    sums.previous = back.previous = back.grad_gates + rows * gates * hidden;
    back.grad_h_0 = back.previous + rows * hidden;
    std::vector<nb::object> found;
    found.push_back(result(needs[0], sums.input_gradient, like, shape.steps, batch, shape.input_size));
    found.push_back(result(needs[1], back.grad_h_0, like, 1, batch, hidden));
    found.push_back(result(needs[2], sums.weight_ih_gradient, like, 3 * hidden, shape.input_size));
    found.push_back(result(needs[3], sums.weight_hh_gradient, like, 3 * hidden, hidden));
    if (shape.bias) {
        found.push_back(result(needs[4], sums.bias_ih_gradient, like, 3 * hidden));
        found.push_back(result(needs[5], sums.bias_hh_gradient, like, 3 * hidden));
    }
    {
        nb::gil_scoped_release release;
        anygru::backward(back);
        anygru::gradients(sums, back.threads);
    }
    nb::list results;
    for (nb::object& one : found) results.append(std::move(one));
    return results;
}

// Gradients of (input, h_0, *weights), None where `needs` says so, of a dense call that is one layer in one direction
// with few rows; None for any other.
template <class Real>
nb::object backward_of_few(const Arguments& given, const TensorView& view) {
    const Kind& kind = nb::cast<const Kind&>(given.get(keys::kind));
    ForwardArguments<Real> forward{};
    Shape& shape = forward.shape;
    shape.steps = view.shape[0], shape.batch = view.shape[1], shape.input_size = view.shape[2];
    shape.rows = shape.steps * shape.batch;
    if (shape.rows == 0 || shape.rows > few_rows || shape.input_size == 0) return nb::none();
    if (!take_weights<Real>(given.get(keys::weights), kind, forward) || shape.layers * shape.directions != 1)
        return nb::none();
    const Index states = shape.batch * shape.hidden, units = shape.rows * shape.hidden;
    BackwardArguments<Real> back{};
    Gradients<Real> sums{};
    if (!take(given, keys::input, view.numel(), sums.input) || !take(given, keys::h_0, states, back.h_0) ||
        !take(given, keys::output, units, back.output.data) || !take(given, keys::reserve, 4 * units, back.kept) ||
        !take(given, keys::grad_output, units, back.grad_output.data) ||
        !take(given, keys::grad_h_n, states, back.grad_h_n))
        return nb::none();
    const auto needs = nb::cast<std::vector<bool>>(given.get(keys::needs));
    if (needs.size() != 2 + forward.weights.size())
        refuse("needs must have one value for the input, h_0 and each weight");
    back.shape = shape;
    back.output.step_stride = back.grad_output.step_stride = states;
    back.output.row_stride = back.grad_output.row_stride = shape.hidden;
    back.weights_hh = {forward.weights[1]};
    back.threads = thread_count(given.number(keys::threads));
    sums.rows = shape.rows, sums.input_size = shape.input_size, sums.hidden = shape.hidden;
    sums.reset_before = shape.reset_before;
    sums.kept = back.kept;
    sums.weight_ih = forward.weights[0];
    return gradients_of_few(back, sums, given.get(keys::input), needs);
}

}  // namespace

void define_direct_calls(nb::module_& m) {
    m.def(
        "dense",
        [](nb::handle input, nb::handle h_0, nb::handle weights, const Kind& kind, Index threads,
           bool keep) -> nb::object {
            TensorView view;
            if (!view_of(input.ptr(), view) || view.dimensions != 3) return nb::none();
            return (view.bits == 32 ? &dense<float> : &dense<double>)(input, view, h_0, weights, kind, threads, keep);
        },
        nb::arg("input"), nb::arg("h_0").none(), nb::arg("weights"), nb::arg("kind"), nb::arg("threads"),
        nb::arg("keep"));

    m.def(
        "cell",
        [](nb::handle input, nb::handle h, nb::handle weights, const Kind& kind, Index threads) -> nb::object {
            TensorView view;
            if (!view_of(input.ptr(), view) || view.dimensions < 1 || view.dimensions > 2) return nb::none();
            return (view.bits == 32 ? &cell<float> : &cell<double>)(input, view, h, weights, kind, threads);
        },
        nb::arg("input"), nb::arg("h").none(), nb::arg("weights"), nb::arg("kind"), nb::arg("threads"));

    m.def(
        "backward_of_few",
        [](nb::dict call) -> nb::object {
            const Arguments given(std::move(call));
            TensorView view;
            if (!view_of(given.get(keys::input).ptr(), view) || view.dimensions != 3) return nb::none();
            return (view.bits == 32 ? &backward_of_few<float> : &backward_of_few<double>)(given, view);
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
