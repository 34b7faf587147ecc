// Solves with one matrix that is factorised front by front (solvers/dissection.py): products of small
// dense matrices with vectors of three columns, level by level of the tree.
//
// All vectors are rows of one pool (..., 3), whose first row is zero.  A product takes sums of `wide`
// rows each, and what it finds goes to a row, with sums of `wide` others added.

// So many rows of a product, by one block: where their entries begin, how many columns and rows, where
// the names of what it takes and of where it goes begin.
struct Piece {
    whole entries, columns, rows, takes, goes, wide;
};

DEVICE vec pooled(const double *pool, const unsigned *names, whole wide) {
    vec sum = make(0.0, 0.0, 0.0);
    for (whole k = 0; k < wide; ++k) {
        const double *row = pool + 3 * (whole)names[k];
        sum = sum + make(row[0], row[1], row[2]);
    }
    return sum;
}

// a lane's share; z (3, count)
DEVICE vec share_of(const double *row, const double *z, int count, int lane) {
    vec sum = make(0.0, 0.0, 0.0);
#pragma unroll 4
    for (int j = lane; j < count; j += LANES)
        sum = sum + row[j] * make(z[j], z[count + j], z[2 * count + j]);
    return sum;
}

// state: where it is not zero, nobody wants to know
BLOCK_KERNEL level(
    const double *state, const whole *pieces, whole count, const double *entries, const unsigned *takes,
    const unsigned *goes, double *pool
) {
    if (state && *state != 0.0) return;
    SHARED(z) EACH_BLOCK(k, count) {
        const Piece p = ((const Piece *)pieces)[k];
        EACH_OF(j, 0, p.columns) {
            const vec sum = pooled(pool, takes + p.takes + p.wide * j, p.wide);
            z[j] = sum.x;
            z[p.columns + j] = sum.y;
            z[2 * p.columns + j] = sum.z;
        }
        WAIT
        EACH_OF_BY_LANES(i, 0, p.rows) {
            vec OF_LANES(sum, share_of(entries + p.entries + p.columns * i, z, p.columns, lane))
            FIRST_LANE {
                const unsigned *names = goes + p.goes + (1 + p.wide) * i;
                sum = sum + pooled(pool, names + 1, p.wide);
                double *row = pool + 3 * (whole)names[0];
                row[0] = sum.x;
                row[1] = sum.y;
                row[2] = sum.z;
            }
        }
    }
}
