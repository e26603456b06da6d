// A layer with drawn numbers, what the kernels make of it, and what its formulas give element by element in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <vector>

#include "engine.hpp"
#include "threads.hpp"

using anygru::Index;

extern int failures;
extern std::mt19937 generator;

template <class Real>
std::vector<Real> random_values(Index count, double scale) {
    std::uniform_real_distribution<double> value(-scale, scale);
    std::vector<Real> result(static_cast<std::size_t>(count));
    for (Real& each : result) each = Real(value(generator));
    return result;
}

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

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

    // What backward of one layer computes.
    struct Backward {
        std::vector<Real> grad_gates, previous, grad_h_0, grad_decay, grad_norms;
    };

    Backward backward(const Result& kept, const std::vector<Real>& grad_output, const std::vector<Real>& grad_h_n,
                      int threads) const {
        const Index hidden = shape.hidden, features = shape.directions * hidden, each = shape.weights_a_direction();
        const auto unset = [](Index count) { return std::vector<Real>(std::size_t(count), Real(NAN)); };
        Backward found{unset(shape.rows * features * anygru::gate_columns(shape.reset_before, shape.norm)),
                       unset(shape.rows * features), unset(Index(h_0.size())), unset(Index(decay.size())),
                       std::vector<Real>(shape.directions * anygru::norm_tiles(shape.batch) * 12 * hidden)};
        anygru::BackwardArguments<Real> arguments{};
        arguments.shape = shape;
        arguments.modifiers = modifiers();
        arguments.grad_output = {grad_output.data(), shape.batch * features, features};
        arguments.grad_h_n = grad_h_n.data();
        arguments.output = {kept.output.data(), shape.batch * features, features};
        arguments.h_0 = h_0.data();
        arguments.kept = kept.reserve.data();
        for (int direction = 0; direction < shape.directions; ++direction) {
            arguments.weights_hh.push_back(weights[direction * each + 1].data());
            for (int side = each - 2; shape.norm && side < each; ++side)
                arguments.gains.push_back(weights[direction * each + side].data());
        }
        if (shape.norm) {
            arguments.norm_kept = kept.reserve.data() + shape.rows * features * 4;
            arguments.grad_norms = found.grad_norms.data();
        }
        arguments.grad_gates = found.grad_gates.data();
        arguments.previous = found.previous.data();
        arguments.grad_decay = decay.empty() ? nullptr : found.grad_decay.data();
        arguments.grad_h_0 = found.grad_h_0.data();
        arguments.threads = threads;
        anygru::backward(arguments);
        return found;
    }

    // The sums that follow it in a direction; where they go is still to be set.
    anygru::Gradients<Real> gradients(const Result& kept, const Backward& back, int direction) const {
        const Index square = shape.rows * shape.hidden;
        anygru::Gradients<Real> sums{};
        sums.rows = shape.rows, sums.input_size = shape.input_size, sums.hidden = shape.hidden;
        sums.reset_before = shape.reset_before, sums.norm = shape.norm;
        sums.precision = shape.precision;
        sums.gates = back.grad_gates.data() + direction * square * anygru::gate_columns(shape.reset_before, shape.norm);
        sums.previous = back.previous.data() + direction * square;
        sums.kept = kept.reserve.data() + direction * square * 4;
        sums.input = input.data();
        sums.weight_ih = weights[direction * shape.weights_a_direction()].data();
        return sums;
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
