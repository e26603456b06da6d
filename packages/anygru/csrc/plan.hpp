// How many threads a call is worth, and how they share it.
#pragma once

#include <algorithm>
#include <cmath>

#include "engine.hpp"
#include "threads.hpp"

namespace anygru {

// Threads that one direction of one layer is worth, and how they share it. The estimate is in nanoseconds a step; it
// only ranks the choices, so rough rates do. Of choices that are nearly alike the one with more row groups is taken:
// threads with rows of their own never wait for one another, and write to other lines of the cache.
struct Division {
    int row_groups = 1;
    int block_groups = 1;
    int threads() const { return row_groups * block_groups; }
};

// How long threads that share units wait in a step, where each writes so many lines of the cache. Measured with cores
// near each other and far apart: 2.4 exchanges of nothing with 2 lines, 4.1 with 4, 5.2 with 8 and 6.9 with 16.
inline double meeting(const ThreadCosts& costs, double lines) {
    return costs.exchange * (0.9 + 1.5 * std::log2(std::max(1.0, lines)));
}

// Values of a unit that cross from core to core in a step. What forward keeps lies in new memory, which one thread
// clears for all; backward hands on the gradients of three gates.
constexpr double handed_on = 1, handed_on_and_kept = 5, handed_back = 3;

// element: bytes of a number that is computed with; weight: of a weight in memory.
inline Division divide(int threads, const Shape& shape, int lanes, int tile_rows, Index element, Index weight,
                       double handed, const ThreadCosts& costs) {
    constexpr double flops_per_ns = 80, near_bytes_per_ns = 85, far_bytes_per_ns = 25;
    constexpr double near_bytes = 768 << 10, far_bytes = 8 << 20;
    const Index blocks = (shape.hidden + lanes - 1) / lanes;
    const Index batch = shape.sizes && shape.steps ? (shape.rows + shape.steps - 1) / shape.steps : shape.batch;
    const Index tiles = std::max<Index>(1, (batch + tile_rows - 1) / tile_rows);
    const bool apart = threads > 1 && (shape.norm || crowded());  // a norm needs all units of a row
    const double rate = flops_per_ns * (weight == 1 ? 2 : 4 / double(element));  // int8 multiplies faster
    Division best;
    double least = 0;
    for (int used = 1; used <= threads; ++used)
        for (int groups = used; groups >= 1; --groups) {
            if (used % groups || groups > tiles || used / groups > blocks || (apart && groups < used)) continue;
            const int block_groups = used / groups;
            const double rows = groups == 1 ? double(batch) : double((tiles + groups - 1) / groups * tile_rows);
            const double width = double((blocks + block_groups - 1) / block_groups) * lanes * 3;
            const double depth = double(shape.hidden + shape.layer_input(0));
            const double bytes = width * double(shape.hidden) * double(weight);
            const double compute = 2 * rows * width * depth / rate;
            const double memory = bytes / (bytes > near_bytes ? far_bytes_per_ns : near_bytes_per_ns);
            // All rows of a thread pass a weight while it is near: of large matrices few rows wait for more of it.
            const double waiting = groups > 1 && bytes * used > far_bytes ? 1.1 : 1;
            const double lines = handed * rows * double(shape.hidden) * double(element) / 64 / block_groups;
            const double met = block_groups > 1 ? meeting(costs, lines) : 0;
            const double time = std::max(compute, memory) * waiting + met;
            if (least == 0 || time < 0.95 * least) {
                least = time;
                best.row_groups = groups;
                best.block_groups = block_groups;
            }
        }
    return best;
}

// Work below this many multiply-adds is done before another thread has begun, on every machine. The second is for each
// nanosecond of an empty region: a call of two threads costs about four of them, as single steps show.
constexpr double worth_a_thread = 150e3, worth_a_region = 4 * 40;

// A single step waits for its weights: reading four bytes counts as so many multiply-adds, as torch stores them and packed.
// A Zen 4 takes 3 and 1.8; with 3, plain steps of 128 units had one thread, and 15.5 microseconds for 14.2.
constexpr double reading_four_bytes = 5, reading_four_packed = 2;

// Less work than this takes a turn or two of the scheduler. Where other programs have the cores, a second thread would
// wait for its own turn for about as long.
constexpr double worth_a_turn = 300e6;

// In a crowd they mean nothing.
inline ThreadCosts costs_of(int threads) { return threads > 1 && !crowded() ? thread_costs() : ThreadCosts{}; }

inline int threads_for(int threads, double work) {
    threads = int(std::min(work / worth_a_thread, double(threads)));
    if (threads <= 1 || (work < worth_a_turn && crowded())) return 1;
    const double worth = std::max(worth_a_thread, worth_a_region * costs_of(threads).region);
    return ready_threads(std::max(1, int(std::min(work / worth, double(threads)))));
}

// weight: bytes of a weight in memory.
inline int useful_threads(int threads, const Shape& shape, Index weight, bool packed) {
    const double weights =
        3 * double(shape.hidden) * double(shape.hidden + shape.layer_input(0)) * shape.directions * shape.layers;
    const double reading =
        shape.steps == 1 ? (packed ? reading_four_packed : reading_four_bytes) * double(weight) / 4 : 0;
    return threads_for(threads, weights * std::max(double(shape.rows), reading));
}

// The sums over all rows. Another core has written half of what a thread reads, and each line of it takes a sixth of an
// exchange.
inline int gradient_threads(int threads, Index rows, Index input_size, Index hidden) {
    const double products = 3 * double(hidden) * double(hidden + input_size);
    threads = threads_for(int(std::min<Index>(threads, (hidden + 7) / 8)), double(rows) * products);
    const double lines = (2.5 * double(hidden) + double(input_size)) * sizeof(float) / 64;
    const double saved = products / 40 * (1 - 1.0 / threads);
    return lines / 2 * costs_of(threads).exchange / 6 < saved ? threads : 1;
}

// Teams compute at the same time: the directions of a layer, or consecutive layers along the diagonal.
struct Plan {
    int teams = 1;
    bool pipelined = false;
    Division division;
    Index chunk = 1;
    int threads() const { return teams * division.threads(); }
};

inline Plan make_plan(const Shape& shape, int threads, const Kernels& kernels, int lanes, Index element, Index weight,
                      bool packed, double handed) {
    Plan plan;
    threads = useful_threads(threads, shape, weight, packed);
    const double step_work = double(shape.batch) * 3 * double(shape.hidden) * double(shape.hidden);
    if (shape.directions >= 2 && threads >= 2) {
        plan.teams = std::min(shape.directions, threads);
    } else if (shape.layers >= 2 && shape.directions == 1 && threads >= 2 && shape.steps >= 16 && step_work < 2e6 &&
               shape.layers >= threads && !crowded()) {
        plan.teams = threads;
        plan.pipelined = true;
    }
    const int own = threads / plan.teams;
    plan.division = divide(own, shape, lanes, kernels.tile_rows, element, weight, handed, costs_of(own));
    const Index own_rows = std::max<Index>(1, (shape.batch + plan.division.row_groups - 1) / plan.division.row_groups);
    const Index blocks = (shape.hidden + lanes - 1) / lanes;
    const Index own_width =
        (blocks + plan.division.block_groups - 1) / plan.division.block_groups * 3 * lanes * element;
    const Index rows = std::clamp<Index>((512 << 10) / own_width, 128, 512);
    plan.chunk = std::clamp<Index>(rows / own_rows, 1, std::max<Index>(shape.steps, 1));
    if (plan.pipelined) plan.chunk = std::clamp<Index>(shape.steps / 12, 1, plan.chunk);
    return plan;
}

}  // namespace anygru
