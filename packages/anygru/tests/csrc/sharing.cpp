// Threads that share a call: the bits of one thread, and in float32 and its lower precisions nearly the numbers of
// float64. The sizes give one to seven vectors of columns, the last of them full or not.
#include "problem.hpp"

namespace anygru {

// threads.cpp is compiled with these two names changed: threads always seem to cost nothing, so that small calls are
// shared, and what is measured is measured all the same.
ThreadCosts measured_costs();
bool measured_crowd();

ThreadCosts thread_costs() {
    measured_costs();
    return {0, 0};
}

bool crowded() {
    measured_crowd();
    return false;
}

}  // namespace anygru

namespace {

template <class Real>
using Tensors = std::vector<std::vector<Real>>;

// Output, last states and all gradients of one layer whose upstream gradients are its own results.
template <class Real>
Tensors<Real> everything(const Problem<Real>& problem, int threads, bool adds) {
    const anygru::Shape& shape = problem.shape;
    const Index hidden = shape.hidden;
    const auto kept = problem.run(threads, true, false);
    Tensors<Real> found{kept.output, kept.h_n};
    const auto add = [&](Index count, Real value) -> std::vector<Real>& {
        found.emplace_back(std::size_t(count), value);
        return found.back();
    };
    const auto back = problem.backward(kept, kept.output, kept.h_n, threads);
    found.push_back(back.grad_h_0);
    if (shape.norm) found.push_back(back.grad_norms);
    const Real before = adds ? Real(1) : Real(NAN);
    for (int direction = 0; direction < shape.directions; ++direction) {
        anygru::Gradients<Real> sums = problem.gradients(kept, back, direction);
        sums.adds = sums.adds_input = adds;
        sums.weight_ih_gradient = add(3 * hidden * shape.input_size, before).data();
        sums.weight_hh_gradient = add(3 * hidden * hidden, before).data();
        sums.bias_ih_gradient = add(3 * hidden, before).data();
        sums.bias_hh_gradient = add(3 * hidden, before).data();
        sums.input_gradient = add(shape.rows * shape.input_size, before).data();
        anygru::gradients(sums, threads);
    }
    return found;
}

template <class Real>
void check_bits(const Tensors<Real>& found, const Tensors<Real>& expected) {
    for (std::size_t i = 0; i < expected.size(); ++i) compare("with more threads", found[i], expected[i], 0);
}

// The largest difference, in the largest number of a tensor.
template <class Real>
void check_near(const Tensors<Real>& found, const Tensors<double>& expected, double tolerance) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
        double most = 1;
        for (double value : expected[i]) most = std::max(most, std::fabs(value));
        compare("beside float64", found[i], expected[i], tolerance * most);
    }
}

struct Sizes {
    Index steps, batch, input, hidden;
};

void check_gradients(const Sizes& size, int option) {
    const auto draw = [&](auto real) {
        generator.seed(7);
        Problem<decltype(real)> problem(size.steps, size.batch, size.input, size.hidden, 1, option & 1 ? 2 : 1, true,
                                        option & 2, option & 4);
        if (option & 8) problem.modified(true);
        problem.decay.clear(), problem.candidate.clear(), problem.zoneout.clear(), problem.mask.clear();
        return problem;
    };
    const Problem<double> twice = draw(double());
    Problem<float> single = draw(float());
    const bool adds = option & 1;
    const auto exact = everything(twice, 1, adds);
    for (int threads : {2, 3}) check_bits(everything(twice, threads, adds), exact);
    for (const auto precision : {anygru::Precision::highest, anygru::Precision::high, anygru::Precision::float16,
                                 anygru::Precision::bfloat16}) {
        single.shape.precision = precision;
        const auto one = everything(single, 1, adds);
        const bool rough = precision == anygru::Precision::bfloat16;
        check_near(one, exact, (rough ? 5e-2 : 2e-4) * (option & 8 ? 10 : 1));
        check_bits(everything(single, 4, adds), one);
    }
}

template <class Real>
void check_layers(const Sizes& size, int layers, int directions) {
    const Problem<Real> problem(size.steps, size.batch, size.input, size.hidden, layers, directions, true, false, false);
    const auto one = problem.run(1, true, false);
    for (int threads : {2, 3, 4}) {
        const auto more = problem.run(threads, true, false);
        check_bits<Real>({more.output, more.h_n}, {one.output, one.h_n});
        compare("packed, with more threads", problem.run(threads, false, true).output, one.output, 0);
    }
}

}  // namespace

void check_sharing() {
    for (const Index input : {13, 30, 48, 61, 71, 100})
        for (int option = input & 1; option < 8; option += 2) check_gradients({9, 20, input, 33}, option);
    for (int option = 0; option < 16; ++option) check_gradients({12, 3, 21, 65}, option);  // units are shared
    check_gradients({1, 4, 200, 256}, 0);  // few rows
    for (int directions : {1, 2}) {
        check_layers<float>({40, 1, 24, 96}, 4, directions);  // along the diagonal
        check_layers<double>({20, 12, 24, 40}, 3, directions);
    }
}
