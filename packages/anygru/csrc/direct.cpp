// Calls that take torch's tensors as they are, check them, allocate the results and compute, all at once. What they do
// not take they decline with None, before anything has changed: the general way of Python then computes it, or says
// what is wrong.
#include "direct.hpp"

#include "arguments.hpp"
#include "halves.hpp"

namespace anygru {

namespace {

template <class Real>
nb::object dense(nb::handle input, const TensorView& given, nb::handle h_0, nb::handle weights, const Kind& kind,
                 Index threads, bool keep, nb::handle modified) {
    ForwardArguments<Real> arguments{};
    Shape& shape = arguments.shape;
    shape.steps = given.shape[0], shape.batch = given.shape[1], shape.input_size = given.shape[2];
    shape.rows = multiply({shape.steps, shape.batch}, "input");
    const bool gaps = given.strides[2] != 1 && shape.input_size != 1;
    if (gaps || shape.rows == 0 || shape.input_size == 0) return nb::none();
    arguments.input = {given.at<const Real>(), given.strides[0], given.strides[1]};
    arguments.halves = given.bits == 16;
    if (arguments.halves && (keep || !modified.is_none())) return nb::none();
    if (!take_weights<Real>(weights, kind, arguments)) return nb::none();
    if (!modified.is_none()) arguments.modifiers = modifiers<Real>(Arguments(nb::borrow<nb::dict>(modified)), shape);
    const Index states = shape.layers * shape.directions / shape.groups, features = shape.directions * shape.hidden;
    const Index width = shape.state_stride();
    TensorView view;
    if (!h_0.is_none()) {
        if (!view_of(h_0.ptr(), view) || view.bits != given.bits || !view.is(states, shape.batch, width) ||
            !view.contiguous())
            return nb::none();
        arguments.h_0 = view.at<const Real>();
    }
    const nb::object output = new_tensor(input, shape.steps, shape.batch, features);
    const nb::object h_n = new_tensor(input, states, shape.batch, width);
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
        InHalves<Real> halves(arguments, given);
        anygru::forward(arguments);
        halves.finish();
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
    arguments.halves = given.bits == 16;
    if (arguments.halves && keep) return nb::none();
    if (!take_weights<Real>(weights, kind, arguments) || shape.layers * shape.directions != shape.groups)
        return nb::none();
    const Index width = shape.state_stride();
    TensorView view;
    if (!h.is_none()) {
        if (!view_of(h.ptr(), view) || view.bits != given.bits || !view.contiguous() ||
            !(batched ? view.is(shape.batch, width) : view.is(width)))
            return nb::none();
        arguments.h_0 = view.at<const Real>();
    }
    const nb::object output = batched ? new_tensor(input, shape.batch, width) : new_tensor(input, width);
    if (!view_of_new(output.ptr(), view)) return nb::none();
    arguments.h_n = view.at<Real>();
    arguments.output = {arguments.h_n, shape.rows * width, width};
    nb::object reserve;
    if (keep) {
        reserve = new_tensor(input, reserve_size(shape));
        if (!view_of_new(reserve.ptr(), view)) return nb::none();
        arguments.reserve = view.at<Real>();
    }
    arguments.threads = thread_count(threads);
    {
        nb::gil_scoped_release release;
        InHalves<Real> halves(arguments, given);
        anygru::forward(arguments);
        halves.finish();
    }
    if (!keep) return output;
    PyObject* results = PyTuple_Pack(2, output.ptr(), reserve.ptr());
    if (!results) throw nb::python_error();
    return nb::steal(results);
}

// Computes with packed weights into `output`, a new tensor. None where its memory cannot be read.
template <class Real>
nb::object from_packed(ForwardArguments<Real>& arguments, const StoredWeights<Real>& stored, const nb::object& output,
                       Index threads) {
    const Shape& shape = arguments.shape;
    const Index width = shape.state_stride();
    TensorView view;
    if (!view_of_new(output.ptr(), view)) return nb::none();
    arguments.output = {view.at<Real>(), shape.batch * width, width};
    arguments.weights.resize(std::size_t(shape.layers) * shape.directions * shape.weights_a_direction());
    arguments.packed = stored.packed.get();
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
    if (given.shape[last] != shape.input_size || shape.rows == 0 || gaps || shape.directions != shape.groups)
        return nb::none();
    const Index width = shape.state_stride();
    TensorView view;  // a stream makes its state itself, and no negative of its memory
    if (!view_of_new(state.ptr(), view) || view.bits != given.bits || !view.contiguous() ||
        !view.is(shape.layers, shape.batch, width))
        return nb::none();
    arguments.h_0 = arguments.h_n = view.at<Real>();
    arguments.input = {given.at<const Real>(), many ? given.strides[0] : 0, batched ? given.strides[many] : 0};
    const nb::object output = many && batched ? new_tensor(input, shape.steps, shape.batch, width)
                              : many          ? new_tensor(input, shape.steps, width)
                              : batched       ? new_tensor(input, shape.batch, width)
                                              : new_tensor(input, width);
    return from_packed(arguments, stored, output, threads);
}

// One step x [n, I] of rows of `states` [capacity, S], which go on in place; the layers' states begin at `offset` of a row.
template <class Real>
nb::object advance_rows(const StoredWeights<Real>& stored, nb::handle input, const TensorView& given, nb::handle states,
                        Index offset, nb::handle rows, Index threads) {
    if (stored.packed->variant != variant_in_use()) refuse("packed weights were made for another instruction set");
    ForwardArguments<Real> arguments{};
    Shape& shape = arguments.shape;
    shape = stored.packed->shape;
    shape.steps = 1, shape.batch = shape.rows = given.shape[0];
    const bool gaps = given.strides[1] != 1 && shape.input_size != 1;
    if (given.shape[1] != shape.input_size || shape.rows == 0 || gaps || shape.directions != shape.groups)
        return nb::none();
    TensorView view;
    if (!view_of(states.ptr(), view) || view.bits != given.bits || view.dimensions != 2 || !view.contiguous())
        return nb::none();
    const Index capacity = view.shape[0], width = view.shape[1], features = shape.state_stride();
    if (offset < 0 || offset > width - shape.layers * features) refuse("offset leaves no room for the states");
    if (!rows.is_none()) {
        arguments.state_rows = tensor<const Index>(rows, shape.batch, "rows");
        for (Index b = 0; b < shape.batch; ++b)
            if (arguments.state_rows[b] < 0 || arguments.state_rows[b] >= capacity) refuse("rows must be of states");
    } else if (shape.batch != capacity) {
        return nb::none();
    }
    arguments.state_row_stride = width;
    arguments.h_0 = arguments.h_n = view.at<Real>() + offset;
    arguments.input = {given.at<const Real>(), 0, given.strides[0]};
    const nb::object output = new_tensor(input, shape.batch, features);
    return from_packed(arguments, stored, output, threads);
}

}  // namespace

void define_direct_calls(nb::module_& m) {
    define_direct_backward(m);

    m.def(
        "dense",
        [](nb::handle input, nb::handle h_0, nb::handle weights, const Kind& kind, Index threads, bool keep,
           nb::handle modified) -> nb::object {
            TensorView view;
            if (!view_of(input.ptr(), view) || view.dimensions != 3) return nb::none();
            if (!modified.is_none() && !PyDict_Check(modified.ptr())) refuse_type("modifiers must be a dict", modified);
            const auto compute = view.bits == 64 ? &dense<double> : &dense<float>;
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
            return (view.bits == 64 ? &cell<double> : &cell<float>)(input, view, h, weights, kind, threads, keep);
        },
        nb::arg("input"), nb::arg("h").none(), nb::arg("weights"), nb::arg("kind"), nb::arg("threads"),
        nb::arg("keep"));

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
        nb::arg("weights"), nb::arg("input").none(), nb::arg("state"), nb::arg("many"), nb::arg("batched"),
        nb::arg("threads"));

    m.def(
        "advance_rows",
        [](const Stored& stored, nb::handle input, nb::handle states, Index offset, nb::handle rows,
           Index threads) -> nb::object {
            TensorView view;
            if (!view_of(input.ptr(), view) || view.dimensions != 2) return nb::none();
            if (const auto* single = dynamic_cast<const StoredWeights<float>*>(&stored); single && view.bits == 32)
                return advance_rows(*single, input, view, states, offset, rows, threads);
            if (const auto* twice = dynamic_cast<const StoredWeights<double>*>(&stored); twice && view.bits == 64)
                return advance_rows(*twice, input, view, states, offset, rows, threads);
            return nb::none();
        },
        nb::arg("weights"), nb::arg("input"), nb::arg("states"), nb::arg("offset"), nb::arg("rows").none(),
        nb::arg("threads"));
}

}  // namespace anygru
