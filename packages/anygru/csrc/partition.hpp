// Who computes what: rows and hidden blocks of one thread, and the layout of its scratch memory.
#pragma once

#include "call.hpp"

namespace anygru {
namespace ANYGRU_VARIANT {

struct Share {
    int member, members;
    int row_group, row_groups;
    Index blocks, first_block, last_block;
    Index tile_rows;

    Share(const Grid& grid, int number, Index all_blocks, Index rows_of_tile)
        : member(number),
          members(grid.row_groups * grid.block_groups),
          row_group(number / grid.block_groups),
          row_groups(grid.row_groups),
          blocks(all_blocks),
          tile_rows(rows_of_tile) {
        const Index part = number % grid.block_groups;
        first_block = all_blocks * part / grid.block_groups;
        last_block = all_blocks * (part + 1) / grid.block_groups;
    }
};

// The rows of one thread among the first `size`: every row_groups-th tile, so that ragged batches, which lose rows at
// the end, stay balanced.
struct OwnRows {
    Index first = 0, last = 0;

    OwnRows(const Share& share, Index rows)
        : tile_(share.row_group), stride_(share.row_groups), height_(share.tile_rows), size_(rows) {
        if (share.row_groups == 1) height_ = rows > 0 ? rows : 1;
    }

    bool next() {
        first = tile_ * height_;
        if (first >= size_) return false;
        last = first + height_ < size_ ? first + height_ : size_;
        tile_ += stride_;
        return true;
    }

private:
    Index tile_, stride_, height_, size_;
};

// Where a block's part of a product begins, and how far apart its rows are.
template <class Real>
struct Place {
    Real* at;
    Index pitch;
};

// Products whose gates are computed together: little enough to stay in the first-level cache.
constexpr Index gathered_bytes = 12 << 10;

// Offsets, in bytes, and sizes, in elements, of a thread's scratch memory.
struct ScratchLayout {
    Index own_blocks, operands, places, panels;
    Index panel_elements, sum_elements, projected_elements;

    // depth: values of k in a block of the tiles; operand_bytes: see Forward; whole_rows: the sums of all own blocks
    // are needed at once
    ScratchLayout(Index batch, Index chunk, const Grid& grid, Index blocks, Index lanes, Index tile_rows, Index depth,
                  Index operand_bytes = 0, bool whole_rows = false) {
        own_blocks = (blocks + grid.block_groups - 1) / grid.block_groups;
        const Index tiles = (batch + tile_rows - 1) / tile_rows;
        Index own_rows = (tiles + grid.row_groups - 1) / grid.row_groups * tile_rows;
        if (own_rows > batch) own_rows = batch;
        operands = round_up(own_rows * chunk * Index(sizeof(void*)));
        places = operands + round_up(own_rows * chunk * operand_bytes);
        panels = places + round_up(2 * own_blocks * Index(sizeof(Place<void>)));
        panel_elements = 4 * depth * 3 * lanes;
        sum_elements = own_rows * 4 * 3 * lanes + gathered_bytes / Index(sizeof(float));
        if (whole_rows) sum_elements += own_rows * own_blocks * 3 * lanes;
        projected_elements = own_rows * chunk * own_blocks * 3 * lanes;
    }

    Index bytes(Index element) const {
        return panels + round_up((panel_elements + sum_elements + projected_elements) * element);
    }

    static Index round_up(Index bytes) { return (bytes + 63) / 64 * 64; }
};

// The first hidden unit of a thread that sums gradients of weights.
ANYGRU_INLINE Index first_unit(Index hidden, int members, int member) {
    constexpr Index together = 8;  // rows of the highest tile
    const Index groups = (hidden + together - 1) / together, first = groups * member / members * together;
    return first < hidden ? first : hidden;
}

// Rows that are summed at once.
constexpr Index gradient_depth = 256;

// Elements that a thread needs for it: a panel of values, gates' gradients of its units, the sums of a tile, and a line
// of the cache after each group of units (of at least four), so that groups do not compete for the same places in it.
ANYGRU_INLINE Index gradient_scratch(Index hidden, int members, int gates, Index lanes) {
    const Index groups = (hidden + 7) / 8, units = (groups + members - 1) / members * 8;
    return gradient_depth * (3 * lanes + gates * units) + 24 * lanes + gates * (units / 4) * 16;
}

}  // namespace ANYGRU_VARIANT
}  // namespace anygru
