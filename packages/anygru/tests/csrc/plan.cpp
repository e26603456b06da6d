// How threads share a layer: prints "rows x units" for sizes that are given as batch, input and hidden size, threads,
// nanoseconds of an exchange and bytes of a weight. Without sizes: the costs of threads on this machine, twice.
#include "plan.hpp"

#include <cstdio>
#include <cstdlib>

int main(int count, char** arguments) {
    if (count == 1) {
        for (int turn = 0; turn < 2; ++turn)
            std::printf("%.17g %.17g\n", anygru::thread_costs().region, anygru::thread_costs().exchange);
        return 0;
    }
    anygru::Shape shape{};
    shape.steps = 100, shape.layers = 1, shape.directions = 1;
    shape.batch = std::atol(arguments[1]), shape.input_size = std::atol(arguments[2]);
    shape.hidden = std::atol(arguments[3]), shape.rows = shape.steps * shape.batch;
    const anygru::Division found = anygru::divide(std::atoi(arguments[4]), shape, 16, 8, 4, std::atol(arguments[6]),
                                                   anygru::handed_on, {0, std::atof(arguments[5])});
    std::printf("%d x %d\n", found.row_groups, found.block_groups);
}
