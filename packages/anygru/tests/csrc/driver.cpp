// Runs every variant that the CPU executes against plain loops in double: forward in both formulas, dense and ragged,
// both directions, several layers and threads; backward against finite differences. Built with sanitizers, and for
// other CPUs.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "engine.hpp"
#include "variants.hpp"

using anygru::Index;

namespace {

int failures = 0;
std::mt19937 generator(1);

template <class Real>
std::vector<Real> random_values(Index count, double scale) {
    std::uniform_real_distribution<double> value(-scale, scale);
    std::vector<Real> result(static_cast<std::size_t>(count));
    for (Real& each : result) each = Real(value(generator));
    return result;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

template <class Real>
struct Problem {
    anygru::Shape shape{};
    std::vector<Index> sizes;
    std::vector<Real> input, h_0;
    std::vector<std::vector<Real>> weights;
    std::vector<Real> decay, candidate, zoneout, mask;  // empty: none

    // Draws modifiers; with `norm` also layer norm.
    Problem& modified(bool norm) {
        const Index states = Index(shape.layers) * shape.directions, units = states * shape.rows * shape.hidden;
        decay = random_values<Real>(units, 1), candidate = random_values<Real>(units, 1);
        zoneout = random_values<Real>(units, 1), mask = random_values<Real>(states * shape.batch * shape.hidden, 1);
        for (auto* values : {&decay, &zoneout})
            for (Real& value : *values) value = value < -0.5 ? Real(0) : Real(std::fabs(value));
        if (!norm) return *this;
        shape.norm = true;
        std::vector<std::vector<Real>> with_gains;
        const int each = shape.weights_a_direction() - 2;
        for (std::size_t i = 0; i < weights.size(); ++i) {
            with_gains.push_back(weights[i]);
            if (int(i % each) + 1 < each) continue;
            for (int side = 0; side < 2; ++side) with_gains.push_back(random_values<Real>(3 * shape.hidden, 1));
        }
        weights = with_gains;
        return *this;
    }

    anygru::StateModifiers<Real> modifiers() const {
        if (decay.empty()) return {};
        return {{decay.data(), shape.hidden, false},
                {candidate.data(), shape.hidden, false},
                {zoneout.data(), shape.hidden, false},
                mask.data()};
    }

    Problem(Index steps, Index batch, Index input_size, Index hidden, int layers, int directions, bool bias,
            bool before, bool ragged) {
        shape.steps = steps;
        shape.batch = batch;
        shape.input_size = input_size;
        shape.hidden = hidden;
        shape.layers = layers;
        shape.directions = directions;
        shape.bias = bias;
        shape.reset_before = before;
        shape.rows = steps * batch;
        if (ragged) {
            shape.rows = 0;
            Index size = batch;
            for (Index t = 0; t < steps; ++t) {
                if (t % 2) size = std::max<Index>(0, size - Index(generator() % 3));
                sizes.push_back(size);
                shape.rows += size;
            }
            shape.sizes = sizes.data();
        }
        input = random_values<Real>(shape.rows * input_size, 1);
        h_0 = random_values<Real>(layers * directions * batch * hidden, 1);
        for (int place = 0; place < layers * directions; ++place) {
            const double scale = 1.5 / std::sqrt(double(hidden));
            weights.push_back(random_values<Real>(3 * hidden * shape.layer_input(place / directions), scale));
            weights.push_back(random_values<Real>(3 * hidden * hidden, scale));
            if (bias) {
                weights.push_back(random_values<Real>(3 * hidden, scale));
                weights.push_back(random_values<Real>(3 * hidden, scale));
            }
        }
    }

    Index size(Index t) const { return sizes.empty() ? shape.batch : sizes[t]; }

    std::vector<const Real*> pointers() const {
        std::vector<const Real*> result;
        for (const auto& weight : weights) result.push_back(weight.data());
        return result;
    }

    struct Result {
        std::vector<Real> output, h_n, reserve;
    };

    Result run(int threads, bool keep, bool packed) const {
        std::unique_ptr<anygru::Packed<Real>> stored;
        if (packed) stored.reset(anygru::pack<Real>(shape, anygru::Storage::full, pointers(), {}));
        return run(threads, keep, stored.get());
    }

    Result run(int threads, bool keep, const anygru::Packed<Real>* packed) const {
        Result result;
        const Index features = shape.directions * shape.hidden;
        result.output.assign(shape.rows * features, Real(NAN));
        result.h_n.assign(h_0.size(), Real(NAN));
        if (keep) result.reserve.assign(anygru::reserve_size(shape), Real(NAN));
        anygru::ForwardArguments<Real> arguments{};
        arguments.shape = shape;
        arguments.input = {input.data(), shape.batch * shape.input_size, shape.input_size};
        arguments.output = {result.output.data(), shape.batch * features, features};
        arguments.h_0 = h_0.data();
        arguments.h_n = result.h_n.data();
        arguments.modifiers = modifiers();
        arguments.weights = pointers();
        arguments.reserve = keep ? result.reserve.data() : nullptr;
        arguments.threads = threads;
        arguments.packed = packed;
        anygru::forward(arguments);
        return result;
    }

    // The formulas, element by element.
    std::pair<std::vector<double>, std::vector<double>> expected() const {
        const Index hidden = shape.hidden, batch = shape.batch, features = shape.directions * hidden;
        std::vector<double> in(input.begin(), input.end()), out, last(h_0.begin(), h_0.end());
        std::vector<Index> start(shape.steps + 1);
        for (Index t = 0; t < shape.steps; ++t) start[t + 1] = start[t] + size(t);
        for (int layer = 0; layer < shape.layers; ++layer) {
            const Index width = shape.layer_input(layer);
            out.assign(shape.rows * features, 0);
            for (int direction = 0; direction < shape.directions; ++direction) {
                const int place = layer * shape.directions + direction, each = shape.weights_a_direction();
                const auto* weight = &weights[place * each];
                double* h = last.data() + place * batch * hidden;
                for (Index i = 0; i < shape.steps; ++i) {
                    const Index t = direction ? shape.steps - 1 - i : i;
                    for (Index b = 0; b < size(t); ++b) {
                        const double* x = in.data() + (start[t] + b) * width;
                        double* own = h + b * hidden;
                        const auto factor = [&](const std::vector<Real>& values, Index j) {
                            return values.empty() ? 1.0
                                                  : double(values[(place * shape.rows + start[t] + b) * hidden + j]);
                        };
                        std::vector<double> next(hidden), read(hidden), reset(hidden);
                        for (Index j = 0; j < hidden; ++j) {
                            own[j] *= factor(decay, j);
                            read[j] = own[j] * (mask.empty() ? 1.0 : double(mask[(place * batch + b) * hidden + j]));
                        }
                        // Rows first .. last - 1 of a product, with norm and bias.
                        const auto product = [&](int kind, Index first, Index last, const double* values, Index depth) {
                            std::vector<double> sums(last - first);
                            double mean = 0, variance = 0;
                            for (Index row = first; row < last; ++row) {
                                for (Index k = 0; k < depth; ++k)
                                    sums[row - first] += double(weight[kind][row * depth + k]) * values[k];
                                mean += sums[row - first] / double(last - first);
                            }
                            for (double sum : sums) variance += (sum - mean) * (sum - mean) / double(last - first);
                            for (Index row = first; row < last; ++row) {
                                double& sum = sums[row - first];
                                if (shape.norm)
                                    sum = double(weight[each - 2 + kind][row]) * (sum - mean) /
                                          std::sqrt(variance + 1e-5);
                                if (shape.bias) sum += weight[2 + kind][row];
                            }
                            return sums;
                        };
                        const auto gates_x = product(0, 0, 2 * hidden, x, width);
                        const auto last_x = product(0, 2 * hidden, 3 * hidden, x, width);
                        const auto gates_h = product(1, 0, 2 * hidden, read.data(), hidden);
                        for (Index j = 0; j < hidden; ++j) reset[j] = sigmoid(gates_x[j] + gates_h[j]) * read[j];
                        const double* state = shape.reset_before ? reset.data() : read.data();
                        const auto last_h = product(1, 2 * hidden, 3 * hidden, state, hidden);
                        for (Index j = 0; j < hidden; ++j) {
                            const double r = shape.reset_before ? 1 : sigmoid(gates_x[j] + gates_h[j]);
                            const double n = std::tanh(last_x[j] + r * last_h[j]) * factor(candidate, j);
                            const double z = sigmoid(gates_x[hidden + j] + gates_h[hidden + j]);
                            const double share = zoneout.empty() ? 0 : factor(zoneout, j);
                            next[j] = share * own[j] + (1 - share) * ((1 - z) * n + z * own[j]);
                        }
                        for (Index j = 0; j < hidden; ++j)
                            own[j] = out[(start[t] + b) * features + direction * hidden + j] = next[j];
                    }
                }
            }
            in = out;
        }
        return {out, last};
    }
};

template <class Real, class Other>
void compare(const char* what, const std::vector<Real>& actual, const std::vector<Other>& expected, double tolerance) {
    double worst = actual.size() == expected.size() ? 0 : INFINITY;
    for (std::size_t i = 0; i < actual.size() && i < expected.size(); ++i) {
        const double difference = std::fabs(double(actual[i]) - double(expected[i]));
        if (!(difference <= worst)) worst = difference;  // NaN counts
    }
    if (worst <= tolerance) return;
    std::printf("%s differs by %g\n", what, worst);
    ++failures;
}

template <class Real>
void check_forward(const Problem<Real>& problem) {
    double tolerance = sizeof(Real) == 4 ? 2e-5 : 1e-12;
    if (problem.shape.norm) tolerance *= 100;  // two values that are nearly the same, far apart after it
    const auto expected = problem.expected();
    const auto first = problem.run(1, false, false);
    compare("output", first.output, expected.first, tolerance);
    compare("h_n", first.h_n, expected.second, tolerance);
    for (int threads : {1, 2, 3}) {
        compare("output again", problem.run(threads, true, false).output, first.output, 0);
        compare("output of packed weights", problem.run(threads, false, true).output, first.output, 0);
    }
}

// Rows are not rounded, or on tiles to sixteen bits.
void check_bfloat16(const Problem<float>& problem, const std::vector<float>& output) {
    if (!anygru::why_no_tiles(false).empty())
        compare("bfloat16 output", output, problem.run(1, false, false).output, 0);
    else
        compare("bfloat16 output", output, problem.expected().first, 3e-5);
}

// Lower precisions, against plain loops, and the same bits with any number of threads.
void check_precisions(Problem<float> problem) {
    const auto expected = problem.expected();
    for (const auto precision : {anygru::Precision::high, anygru::Precision::bfloat16}) {
        problem.shape.precision = precision;
        const auto first = problem.run(1, true, false);
        compare("lower precision", first.output, expected.first, precision == anygru::Precision::high ? 3e-5 : 5e-2);
        for (int threads : {2, 3}) compare("output again", problem.run(threads, false, false).output, first.output, 0);
    }
}

// Weights rounded to bfloat16 or int8, packed and multiplied as those, against plain loops with what they stand for.
void check_frozen(Problem<float> problem, anygru::Storage storage) {
    const bool is_int8 = storage == anygru::Storage::int8;
    const anygru::Shape& shape = problem.shape;
    std::vector<std::vector<std::int8_t>> values;
    std::vector<std::vector<float>> scales;
    const int each = shape.weights_a_direction();
    values.reserve(problem.weights.size()), scales.reserve(problem.weights.size());
    std::vector<const float*> given, factors;
    for (std::size_t i = 0; i < problem.weights.size(); ++i) {
        auto& weight = problem.weights[i];
        given.push_back(weight.data());
        if (int(i) % each > 1) continue;
        const Index width = Index(weight.size()) / (3 * shape.hidden);
        values.emplace_back(weight.size());
        scales.emplace_back(3 * shape.hidden, 1.0f);
        for (std::size_t j = 0; j < weight.size(); ++j) {
            std::uint32_t bits;
            std::memcpy(&bits, &weight[j], sizeof bits);
            bits &= 0xffff0000u;
            if (!is_int8) std::memcpy(&weight[j], &bits, sizeof bits);
            if (!is_int8) continue;
            float& scale = scales.back()[j / std::size_t(width)];
            scale = 0.01f;
            values.back()[j] = std::int8_t(std::max(-127.0f, std::min(127.0f, std::nearbyint(weight[j] / scale))));
            weight[j] = float(values.back()[j]) * scale;
        }
        if (is_int8) given.back() = reinterpret_cast<const float*>(values.back().data());
        factors.push_back(scales.back().data());
    }
    const std::unique_ptr<anygru::Packed<float>> packed(anygru::pack<float>(shape, storage, given, factors));
    const auto first = problem.run(1, false, packed.get());
    if (is_int8)
        compare("int8 output", first.output, problem.expected().first, 2e-4);
    else
        check_bfloat16(problem, first.output);
    for (int threads : {2, 3})
        compare("output again", problem.run(threads, false, packed.get()).output, first.output, 0);
}

void check_all_frozen() {
    const Index sizes[][4] = {{1, 1, 1, 1},   {3, 2, 5, 17},   {4, 9, 16, 16},
                              {2, 20, 7, 65}, {2, 3, 530, 40}, {2, 3, 0, 9}};
    for (const auto storage : {anygru::Storage::bfloat16, anygru::Storage::int8})
        for (const auto& size : sizes)
            for (int option = 0; option < 16; ++option)
                check_frozen(Problem<float>(size[0], size[1], size[2], size[3], 2, option & 8 ? 2 : 1, option & 1,
                                            option & 2, option & 4),
                             storage);
    for (const auto& size : sizes)
        for (int option = 0; option < 16; ++option)
            check_precisions(Problem<float>(size[0], size[1], size[2], size[3], 2, option & 8 ? 2 : 1, option & 1,
                                            option & 2, option & 4));
}

// Gradients of sum(output * u) + sum(h_n * v) for one layer in double.
void check_backward(Problem<double> problem) {
    const anygru::Shape& shape = problem.shape;
    const Index hidden = shape.hidden, features = shape.directions * hidden;
    const Index gates = anygru::gate_columns(shape.reset_before, shape.norm);
    const auto u = random_values<double>(shape.rows * features, 1), v = random_values<double>(problem.h_0.size(), 1);
    const auto loss = [&] {
        const auto result = problem.run(1, false, false);
        double sum = 0;
        for (std::size_t i = 0; i < u.size(); ++i) sum += u[i] * result.output[i];
        for (std::size_t i = 0; i < v.size(); ++i) sum += v[i] * result.h_n[i];
        return sum;
    };
    const auto slope = [&](double& value) {
        const double step = 1e-6, before = value;
        value = before + step;
        const double above = loss();
        value = before - step;
        const double below = loss();
        value = before;
        return (above - below) / (2 * step);
    };
    const auto kept = problem.run(2, true, false);
    for (int threads : {1, 2, 3}) {
        std::vector<double> grad_gates(shape.directions * shape.rows * gates * hidden, NAN);
        std::vector<double> previous(shape.directions * shape.rows * hidden, NAN), grad_h_0(problem.h_0.size(), NAN);
        anygru::BackwardArguments<double> arguments{};
        arguments.shape = shape;
        arguments.grad_output = {u.data(), shape.batch * features, features};
        arguments.grad_h_n = v.data();
        arguments.output = {kept.output.data(), shape.batch * features, features};
        arguments.h_0 = problem.h_0.data();
        arguments.kept = kept.reserve.data();
        for (int direction = 0; direction < shape.directions; ++direction)
            arguments.weights_hh.push_back(problem.weights[direction * shape.weights_a_direction() + 1].data());
        arguments.grad_gates = grad_gates.data();
        arguments.previous = previous.data();
        arguments.grad_h_0 = grad_h_0.data();
        arguments.modifiers = problem.modifiers();
        std::vector<double> grad_decay(problem.decay.size(), NAN);
        arguments.grad_decay = grad_decay.empty() ? nullptr : grad_decay.data();
        std::vector<double> grad_norms(shape.directions * anygru::norm_tiles(shape.batch) * 12 * hidden);
        if (shape.norm) {
            for (int direction = 0; direction < shape.directions; ++direction)
                for (int side : {4, 5}) arguments.gains.push_back(problem.weights[direction * 6 + side].data());
            arguments.norm_kept = kept.reserve.data() + shape.directions * shape.rows * 4 * hidden;
            arguments.grad_norms = grad_norms.data();
        }
        arguments.threads = threads;
        anygru::backward(arguments);
        for (std::size_t i = 0; i < problem.h_0.size(); i += 3 + problem.h_0.size() / 20)
            compare("grad_h_0", std::vector<double>{grad_h_0[i]}, std::vector<double>{slope(problem.h_0[i])}, 1e-7);
        for (std::size_t i = 0; i < grad_decay.size(); i += 3 + grad_decay.size() / 20)
            compare("grad_decay", std::vector<double>{grad_decay[i]}, std::vector<double>{slope(problem.decay[i])},
                    1e-7);
        if (shape.norm) continue;  // the sums are those of the other calls
        const Index square = shape.rows * hidden;
        std::vector<double> grad_input(shape.rows * shape.input_size);
        for (int direction = 0; direction < shape.directions; ++direction) {
            auto* weights = &problem.weights[direction * 4];
            std::vector<std::vector<double>> found;
            for (int kind = 0; kind < 4; ++kind) found.emplace_back(weights[kind].size(), NAN);
            anygru::Gradients<double> sums{};
            sums.rows = shape.rows, sums.input_size = shape.input_size, sums.hidden = hidden;
            sums.reset_before = shape.reset_before;
            sums.gates = grad_gates.data() + direction * square * gates;
            sums.previous = previous.data() + direction * square;
            sums.kept = kept.reserve.data() + direction * square * 4;
            sums.input = problem.input.data();
            sums.weight_ih = weights[0].data();
            sums.weight_ih_gradient = found[0].data(), sums.weight_hh_gradient = found[1].data();
            sums.bias_ih_gradient = found[2].data(), sums.bias_hh_gradient = found[3].data();
            std::vector<double> own(grad_input.size(), NAN);
            sums.input_gradient = own.data();
            anygru::gradients(sums, threads);
            for (std::size_t i = 0; i < own.size(); ++i) grad_input[i] += own[i];
            for (int kind = 0; kind < 4; ++kind)
                for (std::size_t i = 0; i < weights[kind].size();
                     i += kind < 2 ? 37 + weights[kind].size() / 40 : 2 + weights[kind].size() / 20)
                    compare("weight gradient", std::vector<double>{found[kind][i]},
                            std::vector<double>{slope(weights[kind][i])}, 1e-6);
        }
        for (std::size_t i = 0; i < grad_input.size(); i += 5 + grad_input.size() / 40)
            compare("input gradient", std::vector<double>{grad_input[i]}, std::vector<double>{slope(problem.input[i])},
                    1e-6);
    }
}

template <class Real>
void check_all() {
    const Index sizes[][4] = {{1, 1, 1, 1},    {1, 1, 130, 33}, {3, 2, 5, 17}, {4, 9, 16, 16}, {2, 20, 7, 65},
                              {5, 1, 40, 131}, {0, 2, 3, 4},    {3, 0, 3, 4},  {2, 3, 0, 9}};
    for (const auto& size : sizes)
        for (int layers : {1, 3})
            for (int directions : {1, 2})
                for (int option = 0; option < 8; ++option)
                    check_forward(Problem<Real>(size[0], size[1], size[2], size[3], layers, directions, option & 1,
                                                option & 2, option & 4));
    for (const auto& size : sizes)
        for (int option = 0; option < 16; ++option)
            check_forward(Problem<Real>(size[0], size[1], size[2], size[3], 2, option & 8 ? 2 : 1, option & 1,
                                        option & 2, option & 4)
                              .modified(option & 8 || option & 1));
    for (int layers : {2, 3})
        check_forward(Problem<Real>(40, 1, 24, 48, layers, 1, true, false, false));  // along the diagonal
}

}  // namespace

int main() {
    for (const char* const* name = anygru::executable_variants(); *name; ++name) {
        anygru::use_kernels(*name);
        check_all<float>();
        check_all<double>();
        for (int option = 0; option < 8; ++option) {
            check_backward(Problem<double>(4, 3, 5, 9, 1, option & 1 ? 2 : 1, true, option & 2, option & 4));
            for (bool norm : {false, true})
                check_backward(
                    Problem<double>(4, 3, 5, 9, 1, option & 1 ? 2 : 1, true, option & 2, option & 4).modified(norm));
            // Read in place; wide enough for several vectors of the input.
            check_backward(Problem<double>(2, 2, 41, 32, 1, option & 1 ? 2 : 1, true, option & 2, option & 4));
        }
        // More rows than are summed at once.
        for (bool reset_before : {false, true})
            check_backward(Problem<double>(9, 30, 21, 9, 1, 1, true, reset_before, false));
        std::printf("%s: %s\n", *name, failures ? "failed" : "ok");
    }
    for (const char* const* name = anygru::executable_frozen(); *name; ++name) {
        anygru::use_kernels(*name);
        check_all_frozen();
        std::printf("frozen %s: %s\n", *name, failures ? "failed" : "ok");
    }
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
