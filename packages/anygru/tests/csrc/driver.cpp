// Runs every variant that the CPU executes against plain loops in double: forward in both formulas, dense and ragged,
// both directions, several layers and threads; backward against finite differences. Built with sanitizers, and for
// other CPUs. With an argument: only threads that share a call.
#include <cstdlib>
#include <cstring>

#include "problem.hpp"
#include "variants.hpp"

int failures = 0;
std::mt19937 generator(1);
void check_sharing();  // sharing.cpp

namespace {

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
    const auto u = random_values<double>(shape.rows * shape.directions * shape.hidden, 1), v = random_values<double>(problem.h_0.size(), 1);
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
        const auto back = problem.backward(kept, u, v, threads);
        for (std::size_t i = 0; i < problem.h_0.size(); i += 3 + problem.h_0.size() / 20)
            compare("grad_h_0", std::vector<double>{back.grad_h_0[i]}, std::vector<double>{slope(problem.h_0[i])}, 1e-7);
        for (std::size_t i = 0; i < back.grad_decay.size(); i += 3 + back.grad_decay.size() / 20)
            compare("grad_decay", std::vector<double>{back.grad_decay[i]},
                    std::vector<double>{slope(problem.decay[i])}, 1e-7);
        if (shape.norm) continue;  // the sums are those of the other calls
        std::vector<double> grad_input(shape.rows * shape.input_size);
        for (int direction = 0; direction < shape.directions; ++direction) {
            auto* weights = &problem.weights[direction * 4];
            std::vector<std::vector<double>> found;
            for (int kind = 0; kind < 4; ++kind) found.emplace_back(weights[kind].size(), NAN);
            anygru::Gradients<double> sums = problem.gradients(kept, back, direction);
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

int main(int count, char**) {
    for (const char* const* name = anygru::executable_variants(); *name; ++name) {
        anygru::use_kernels(*name);
        check_sharing();
        if (count > 1) continue;
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
    for (const char* const* name = anygru::executable_frozen(); count == 1 && *name; ++name) {
        anygru::use_kernels(*name);
        check_all_frozen();
        std::printf("frozen %s: %s\n", *name, failures ? "failed" : "ok");
    }
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
