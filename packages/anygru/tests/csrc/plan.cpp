// How threads share a layer: prints "rows x units" for sizes that are given as batch, input and hidden size and threads.
#include "plan.hpp"

#include <cstdio>
#include <cstdlib>

int main(int, char** arguments) {
    anygru::Shape shape{};
    shape.steps = 100, shape.layers = 1, shape.directions = 1;
    shape.batch = std::atol(arguments[1]), shape.input_size = std::atol(arguments[2]);
    shape.hidden = std::atol(arguments[3]), shape.rows = shape.steps * shape.batch;
    const anygru::Division found = anygru::divide(std::atoi(arguments[4]), shape, 16, 8, 4, 4);
    std::printf("%d x %d\n", found.row_groups, found.block_groups);
}
