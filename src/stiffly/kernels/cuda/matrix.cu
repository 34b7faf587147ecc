// Matrices on a card: products, Chebyshev's recurrence, and sums over rows.
//
// Entries lie in slices of rows, entry by entry side by side (number k of entry p at
// values[k slots + p]), so that the lanes of a row read what follows one another.  Rows of vectors
// are as on the host: row i of x has W P numbers, coordinates of a row by columns.

// All fields have eight bytes: matrix.py fills them in this order.
struct Job {
    whole rows;
    Slices near;
    const double *values;
    whole slots;
    const double *own, *weight;  // diagonal blocks of bars (rows, 6); of rows, null where all are 1
    // the recurrence z <- s A x + t x - z, out += z c^T, then x and z in turn, `count` times
    double *x, *z, *out;
    const double *c;  // (count, outs, P)
    whole outs, count;
    double s, t;
    whole *done;  // terms of this call that are recorded as done
};

#ifndef SHIM
__constant__
#endif
    Job job;

template <int N> struct few {
    double v[N];
};
template <int N> DEVICE few<N> operator+(few<N> a, few<N> b) {
    for (int k = 0; k < N; ++k) a.v[k] += b.v[k];
    return a;
}
template <int N> DEVICE few<N> row(const double *x, whole i) {
    few<N> r;
#ifndef SHIM
    if (N % 2 == 0) {  // two words at once: such rows are aligned
#pragma unroll
        for (int k = 0; k < N / 2; ++k) {
            double2 two = ((const double2 *)(x + N * i))[k];
            r.v[2 * k] = two.x;
            r.v[2 * k + 1] = two.y;
        }
    } else
#endif
        for (int k = 0; k < N; ++k) r.v[k] = x[N * i + k];
    return r;
}

#ifdef SHIM
#define EACH_LANE(j, count) for (whole j = 0; j < (count); ++j)
#define LANES_TOGETHER
#define EACH_WARP(w, count) for (whole w = 0; w < (count); ++w)
#define OF_WARP(sum, part)                                                                         \
    sum = 0.0;                                                                                     \
    for (int lane = 0; lane < 32; ++lane) sum += part;
#else
template <int N> DEVICE few<N> shuffled(few<N> a, int hop) {
    const unsigned own = lanes_of_row();
#pragma unroll
    for (int k = 0; k < N; ++k) a.v[k] = __shfl_xor_sync(own, a.v[k], hop);
    return a;
}
// what can be dealt to the lanes of a row
#define EACH_LANE(j, count) for (whole j = lane; j < (count); j += LANES)
#define LANES_TOGETHER __syncwarp(lanes_of_row());
#define EACH_WARP(w, count)                                                                        \
    const whole w = THREAD / 32;                                                                   \
    const int lane = THREAD % 32;                                                                  \
    if (w < (count))
#define OF_WARP(sum, part)                                                                         \
    sum = part;                                                                                    \
    for (int hop = 16; hop; hop /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, hop);
#endif

// ------------------------------------------------------------------ kinds of matrices
// `diagonal` adds what a row has beside its entries, `entry` the product of entry p with the row r.

// numbers: those of a matrix, or of K' (x) I_3 where W = 3
template <int W_, int P_> struct Numbers {
    enum { W = W_, P = P_, N = W_ * P_ };
    DEVICE void diagonal(few<N> &sum, whole i, const double *x) {}
    DEVICE void entry(few<N> &sum, whole p, const few<N> &r) {
        const double d = once(job.values + p);
#pragma unroll
        for (int k = 0; k < N; ++k) sum.v[k] += d * r.v[k];
    }
};

// 3x3 blocks
template <int P_> struct Blocks {
    enum { W = 3, P = P_, N = 3 * P_ };
    DEVICE void diagonal(few<N> &sum, whole i, const double *x) {}
    DEVICE void entry(few<N> &sum, whole p, const few<N> &r) {
#pragma unroll
        for (int k = 0; k < 9; ++k) {
            const double d = once(job.values + k * job.slots + p);
#pragma unroll
            for (int c = 0; c < P; ++c) sum.v[k / 3 * P + c] += d * r.v[k % 3 * P + c];
        }
    }
};

// -(a I + e e^T) beside the diagonal: a, e; diagonal blocks xx, yy, zz, xy, xz, yz
template <int P_> struct Bars {
    enum { W = 3, P = P_, N = 3 * P_ };
    DEVICE void diagonal(few<N> &sum, whole i, const double *x) {
        const few<N> r = row<N>(x, i);
        const double *d = job.own + 6 * i;
#pragma unroll
        for (int c = 0; c < P; ++c) {
            const double a = r.v[c], b = r.v[P + c], e = r.v[2 * P + c];
            sum.v[c] += d[0] * a + d[3] * b + d[4] * e;
            sum.v[P + c] += d[3] * a + d[1] * b + d[5] * e;
            sum.v[2 * P + c] += d[4] * a + d[5] * b + d[2] * e;
        }
    }
    DEVICE void entry(few<N> &sum, whole p, const few<N> &r) {
        const double *e = job.values + p;
        const double a = once(e), x = once(e + job.slots), y = once(e + 2 * job.slots);
        const double z = once(e + 3 * job.slots);
#pragma unroll
        for (int c = 0; c < P; ++c) {
            const double along = x * r.v[c] + y * r.v[P + c] + z * r.v[2 * P + c];
            sum.v[c] -= a * r.v[c] + along * x;
            sum.v[P + c] -= a * r.v[P + c] + along * y;
            sum.v[2 * P + c] -= a * r.v[2 * P + c] + along * z;
        }
    }
};

// a lane's share of row i of A x
template <class K> DEVICE few<K::N> share(whole i, int lane, const double *x) {
    K matrix;
    few<K::N> sum = {};
    if (lane == 0) matrix.diagonal(sum, i, x);
#pragma unroll 2
    for (ENTRIES(p, job.near)) matrix.entry(sum, p, row<K::N>(x, once(job.near.other + p)));
    return sum;
}

DEVICE double weight_of(whole i) { return job.weight ? job.weight[i] : 1.0; }

template <class K> DEVICE void product(const double *x, double *y) {
    EACH_ROW_BY_LANES(i, job.rows) {
        few<K::N> OF_LANES(sum, (share<K>(i, lane, x)))
        FIRST_LANE {
            for (int k = 0; k < K::N; ++k) y[K::N * i + k] = weight_of(i) * sum.v[k];
        }
    }
}

// the term that comes `later` than those that are done; nothing where the call has none left
template <class K> DEVICE void term(whole later) {
    const whole k = *job.done + later;
    if (k >= job.count) return;
    const double *x = k & 1 ? job.z : job.x, *c = job.c + k * job.outs * K::P;
    double *z = k & 1 ? job.x : job.z;
    EACH_ROW_BY_LANES(i, job.rows) {
        few<K::N> OF_LANES(sum, (share<K>(i, lane, x)))
        const few<K::N> here = row<K::N>(x, i), before = row<K::N>(z, i);
        const double s = job.s * weight_of(i), t = job.t;
#pragma unroll
        for (int n = 0; n < K::N; ++n) sum.v[n] = s * sum.v[n] + t * here.v[n] - before.v[n];
        LANES_TOGETHER  // all of them have read what the first one overwrites
        FIRST_LANE {
            for (int n = 0; n < K::N; ++n) z[K::N * i + n] = sum.v[n];
        }
        const bool second = k & 1;  // of two terms, which go into the sums together
        if (second || k + 1 == job.count) EACH_LANE(j, job.outs) {
#pragma unroll
            for (int w = 0; w < K::W; ++w) {
                double more = 0.0;
                for (int p = 0; second && p < K::P; ++p)
                    more += (c - job.outs * K::P)[K::P * j + p] * here.v[K::P * w + p];
                for (int p = 0; p < K::P; ++p) more += c[K::P * j + p] * sum.v[K::P * w + p];
                job.out[(K::W * i + w) * job.outs + j] += more;
            }
        }
    }
}

#define KERNELS(name, kind)                                                                        \
    KERNEL name##_product(const double *x, double *y) { product<kind>(x, y); }                     \
    KERNEL name##_term(whole later) { term<kind>(later); }
#define OF_TWO(W, P) Numbers<W, P>
KERNELS(numbers_1, OF_TWO(1, 1))
KERNELS(numbers_2, OF_TWO(1, 2))
KERNELS(alike_1, OF_TWO(3, 1))
KERNELS(alike_2, OF_TWO(3, 2))
KERNELS(blocks_1, Blocks<1>)
KERNELS(blocks_2, Blocks<2>)
KERNELS(bars_1, Bars<1>)
KERNELS(bars_2, Bars<2>)

KERNEL begin(whole *done) {
    EACH_ROW(i, 1) *done = 0;
}
KERNEL tick(whole count) {
    EACH_ROW(i, 1) *job.done += count;
}

// x (rows, columns) of one vector or two
KERNEL side_by_side(whole rows, whole columns, const double *a, const double *b, double *x) {
    EACH_ROW(i, rows) {
        x[columns * i] = a[i];
        if (columns > 1) x[columns * i + 1] = b[i];
    }
}
// out (rows, outs) = x c^T
KERNEL first_term(
    whole rows, whole columns, whole outs, const double *x, const double *c, double *out
) {
    EACH_ROW(i, rows) {
        for (whole j = 0; j < outs; ++j) {
            double sum = 0.0;
            for (whole p = 0; p < columns; ++p) sum += c[columns * j + p] * x[columns * i + p];
            out[outs * i + j] = sum;
        }
    }
}
// rows (columns, rows) of x (rows, columns)
KERNEL turned_over(whole rows, whole columns, const double *x, double *made) {
    EACH_ROW(i, rows) {
        for (whole c = 0; c < columns; ++c) made[rows * c + i] = x[columns * i + c];
    }
}

// entries (entries, width) as a matrix has them, into their slots; slots that fill a slice: zeros
KERNEL lay(
    whole slots, const unsigned *entry, whole entries, whole width, const double *given, double *values
) {
    EACH_ROW(i, slots) {
        for (whole k = 0; k < width; ++k)
            values[k * slots + i] = entry[i] < entries ? given[width * entry[i] + k] : 0.0;
    }
}

// ------------------------------------------------------------------ sums in a fixed order

#define PIECES 512  // of a sum: a warp each

// of every (32 PIECES)th row, from `first`
DEVICE double every(
    const double *a, const double *b, const double *weight, whole rows, whole columns, whole c, whole first
) {
    double sum = 0.0;
#pragma unroll 4
    for (whole i = first; i < rows; i += 32 * PIECES) {
        const whole at = columns * i + c;
        sum += (weight ? weight[i] : 1.0) * a[at] * b[at];
    }
    return sum;
}
DEVICE double of_pieces(const double *pieces, int lane) {
    double sum = 0.0;
    for (whole k = lane; k < PIECES; k += 32) sum += pieces[k];
    return sum;
}

// pieces (columns, PIECES) of a^T diag(weight) b, column by column
KERNEL pieces(
    const double *a, const double *b, const double *weight, whole rows, whole columns, double *made
) {
    EACH_WARP(w, PIECES * columns) {
        double OF_WARP(
            sum, every(a, b, weight, rows, columns, w / PIECES, w % PIECES * 32 + lane)
        )
        FIRST_LANE made[w] = sum;
    }
}
KERNEL sums(whole columns, const double *made, double *out) {
    EACH_WARP(w, columns) {
        double OF_WARP(sum, of_pieces(made + PIECES * w, lane))
        FIRST_LANE out[w] = sum;
    }
}
