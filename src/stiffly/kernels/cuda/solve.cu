// Linear systems A x = b on a card, A in 3x3 blocks: conjugate gradients (cg_...) where A is
// symmetric, BiCGStab (bi_...) where it is not, both with a preconditioner of two levels,
//
//     z = D^-1 r + P (P^T A P)^-1 P^T r:
//
// the inverses of the diagonal blocks, and what aggregates of particles do that move as affine bodies
// (12 numbers each; rigid motions are among them however far a body has turned).
//
// Hestenes and Stiefel 1952; van der Vorst, Bi-CGSTAB, SIAM J. Sci. Stat. Comput. 13 (1992).  Step
// numbers are those of Saad, Iterative Methods for Sparse Linear Systems (2003), Algorithms 9.1 and
// 7.7 (preconditioned from the right).  Scalars stay on the card: iterations are recorded ahead, and
// those after the end do nothing.

// All fields have eight bytes: solve.py fills them in this order.
struct Solve {
    double *inverse;                              // (rows, 9), of the diagonal blocks of A
    const double *functions;                      // (rows, 4), P = functions (x) I_3, by aggregates
    const unsigned *label, *order;                // (rows,), aggregate of each; rows by aggregates
    const whole *first;                           // (count + 1,), where each begins in the order
    double *coarse;                               // (12 count, 12 count), the inverse of P^T A P
    double *x, *r, *p, *q, *z, *y, *v, *shadow;  // (rows, 3)
    double *shares;                               // (SHARES, 2)
    double *parts, *moments, *amounts;            // (count, PARTS, 12), (count, 12) twice
    double *numbers;
    whole count;  // of aggregates
    double tolerance;  // |r| <= tolerance |b|
};

#ifndef SHIM
__constant__
#endif
    Solve solve;

#ifdef SHIM
#define SHARES 4
#else
#define SHARES 1024  // of a sum: a warp each
#endif
enum { STATE, COUNT, GOAL, RHO, ALPHA, OMEGA, BETA };  // numbers
enum { GOES_ON, SOLVED, INDEFINITE, STUCK };           // states
#define WHILE_IT_GOES_ON                                                                           \
    if (solve.numbers[STATE] != GOES_ON) return;

// several sums of all lanes of a warp
#ifdef SHIM
#define ALL_OF_WARP(sum, part)                                                                     \
    sum = {};                                                                                      \
    for (int lane = 0; lane < 32; ++lane) sum = sum + part;
#else
template <int N> DEVICE few<N> of_warp(few<N> sum) {
#pragma unroll
    for (int hop = 16; hop; hop /= 2)
#pragma unroll
        for (int k = 0; k < N; ++k) sum.v[k] += __shfl_xor_sync(0xffffffffu, sum.v[k], hop);
    return sum;
}
#define ALL_OF_WARP(sum, part) sum = of_warp(part);
#endif

// rows of a lane of all warps; and the kernel that does job(first row) for two sums over all rows
#define ROWS_FROM(i, first) whole i = (first); i < job.rows; i += 32 * SHARES
#define SUMMING_KERNEL(name, sweep)                                                                \
    KERNEL name() {                                                                                \
        WHILE_IT_GOES_ON                                                                           \
        EACH_WARP(w, SHARES) {                                                                     \
            few<2> ALL_OF_WARP(sum, sweep(32 * w + lane))                                         \
            FIRST_LANE {                                                                           \
                solve.shares[2 * w] = sum.v[0];                                                    \
                solve.shares[2 * w + 1] = sum.v[1];                                                \
            }                                                                                      \
        }                                                                                          \
    }
// and the one that does rule(a, b) with these sums
#define RULE_KERNEL(name, rule)                                                                    \
    KERNEL name() {                                                                                \
        WHILE_IT_GOES_ON                                                                           \
        EACH_WARP(w, 1) {                                                                          \
            few<2> ALL_OF_WARP(sum, shares_of(lane))                                              \
            FIRST_LANE rule(sum.v[0], sum.v[1]);                                                   \
        }                                                                                          \
    }
#define PRODUCT_KERNEL(name, from, to)                                                             \
    KERNEL name() {                                                                                \
        WHILE_IT_GOES_ON                                                                           \
        product<Blocks<1> >(solve.from, solve.to);                                                 \
    }

DEVICE few<2> shares_of(int lane) {
    few<2> sum = {};
#pragma unroll 8
    for (whole k = lane; k < SHARES; k += 32) sum = sum + row<2>(solve.shares, k);
    return sum;
}

DEVICE few<3> operator*(double s, few<3> a) {
    for (int k = 0; k < 3; ++k) a.v[k] *= s;
    return a;
}
DEVICE double inner(const few<3> &a, const few<3> &b) {
    return a.v[0] * b.v[0] + a.v[1] * b.v[1] + a.v[2] * b.v[2];
}
DEVICE void put(double *x, whole i, const few<3> &a) {
    for (int k = 0; k < 3; ++k) x[3 * i + k] = a.v[k];
}

// ------------------------------------------------------------------ the preconditioner

// of all diagonal blocks; *indefinite: of a symmetric one that is not positive definite
KERNEL invert(double *inverse, double *indefinite) {
    EACH_ROW(i, job.rows) {
        double d[9] = {}, e[9];
        for (int lane = 0; lane < LANES; ++lane)
            for (ENTRIES(p, job.near))
                if (job.near.other[p] == i)
                    for (int k = 0; k < 9; ++k) d[k] += job.values[k * job.slots + p];
        for (int k = 0; k < 9; ++k) {  // cofactors, transposed
            const int a = (k % 3 + 1) % 3, b = (k % 3 + 2) % 3, c = (k / 3 + 1) % 3, f = (k / 3 + 2) % 3;
            e[k] = d[3 * a + c] * d[3 * b + f] - d[3 * a + f] * d[3 * b + c];
        }
        const double determinant = d[0] * e[0] + d[1] * e[3] + d[2] * e[6];
        if (!(d[0] > 0.0 && e[8] > 0.0 && determinant > 0.0)) *indefinite = 1.0;
        const bool regular = determinant != 0.0 && determinant - determinant == 0.0;
        for (int k = 0; k < 9; ++k)
            inverse[9 * i + k] = regular ? e[k] / determinant : k % 4 == 0 ? 1.0 : 0.0;
    }
}

// of each aggregate, PARTS warps: P^T r
#define PARTS 32
DEVICE few<12> moments_of(const double *r, whole aggregate, whole part, int lane) {
    few<12> sum = {};
    for (whole at = solve.first[aggregate] + 32 * part + lane; at < solve.first[aggregate + 1];
         at += 32 * PARTS) {
        const whole i = solve.order[at];
        const few<4> f = row<4>(solve.functions, i);
        const few<3> a = row<3>(r, i);
#pragma unroll
        for (int k = 0; k < 12; ++k) sum.v[k] += f.v[k / 3] * a.v[k % 3];
    }
    return sum;
}
DEVICE void moments(const double *r) {
    EACH_WARP(w, PARTS * solve.count) {
        few<12> ALL_OF_WARP(sum, moments_of(r, w / PARTS, w % PARTS, lane))
        FIRST_LANE {
            for (int k = 0; k < 12; ++k) solve.parts[12 * w + k] = sum.v[k];
        }
    }
}
KERNEL moment() {
    WHILE_IT_GOES_ON
    EACH_WARP(w, 12 * solve.count) {
        double OF_WARP(sum, solve.parts[12 * (PARTS * (w / 12) + lane) + w % 12])
        FIRST_LANE solve.moments[w] = sum;
    }
}
DEVICE double amount_of(whole n, int lane) {
    double sum = 0.0;
    for (whole k = lane; k < 12 * solve.count; k += 32)
        sum += solve.coarse[12 * solve.count * n + k] * solve.moments[k];
    return sum;
}
KERNEL amount() {
    WHILE_IT_GOES_ON
    EACH_WARP(w, 12 * solve.count) {
        double OF_WARP(sum, amount_of(w, lane))
        FIRST_LANE solve.amounts[w] = sum;
    }
}
// row i of D^-1 r + P amounts
DEVICE few<3> preconditioned(whole i, const few<3> &r) {
    const double *d = solve.inverse + 9 * i, *y = solve.amounts + 12 * (whole)solve.label[i];
    const few<4> f = row<4>(solve.functions, i);
    few<3> z;
#pragma unroll
    for (int k = 0; k < 3; ++k) {
        z.v[k] = d[3 * k] * r.v[0] + d[3 * k + 1] * r.v[1] + d[3 * k + 2] * r.v[2];
        for (int a = 0; a < 4; ++a) z.v[k] += f.v[a] * y[3 * a + k];
    }
    return z;
}
// z and two sums: r.z, r.r
DEVICE few<2> with_squares(const double *from, double *to, whole first) {
    few<2> sum = {};
    for (ROWS_FROM(i, first)) {
        const few<3> r = row<3>(from, i), z = preconditioned(i, r);
        put(to, i, z);
        sum.v[0] += inner(r, z);
        sum.v[1] += inner(r, r);
    }
    return sum;
}
#define MOMENTS_KERNEL(name, from)                                                                 \
    KERNEL name() {                                                                                \
        WHILE_IT_GOES_ON                                                                           \
        moments(solve.from);                                                                       \
    }

// P^T A P, by pieces of entries of rows in one aggregate and columns in another; a warp for each
// piece and two functions.  near, far, slot (entries,): rows, columns and places of entries, piece
// by piece; start (pieces + 1,)
DEVICE few<9> pair_of(
    const double *functions, const unsigned *near, const unsigned *far, const unsigned *slot, whole from,
    whole to, whole a, whole b, int lane
) {
    few<9> sum = {};
    for (whole e = from + lane; e < to; e += 32) {
        const double weight = functions[4 * (whole)near[e] + a] * functions[4 * (whole)far[e] + b];
#pragma unroll
        for (int k = 0; k < 9; ++k) sum.v[k] += weight * job.values[k * job.slots + slot[e]];
    }
    return sum;
}
KERNEL pairs(
    const double *functions, const unsigned *near, const unsigned *far, const unsigned *slot,
    const whole *start, whole pieces, double *made
) {
    EACH_WARP(w, 16 * pieces) {
        const whole piece = w / 16, a = w / 4 % 4, b = w % 4;
        few<9> ALL_OF_WARP(
            sum, pair_of(functions, near, far, slot, start[piece], start[piece + 1], a, b, lane)
        )
        FIRST_LANE {
            for (int k = 0; k < 9; ++k) made[9 * w + k] = sum.v[k];
        }
    }
}
// (12 count, 12 count); begin (count^2 + 1,): the pieces of each pair of aggregates
KERNEL coarsen(whole count, const double *made, const whole *begin, double *coarse) {
    EACH_ROW(n, 144 * count * count) {
        const whole i = n / (12 * count), j = n % (12 * count);  // 3 functions of 4 of an aggregate
        const whole pair = count * (i / 12) + j / 12, ab = 4 * (i / 3 % 4) + j / 3 % 4;
        double sum = 0.0;
        for (whole piece = begin[pair]; piece < begin[pair + 1]; ++piece)
            sum += made[9 * (16 * piece + ab) + 3 * (i % 3) + j % 3];
        coarse[n] = sum;
    }
}

DEVICE void first_numbers(double rho, double square) {
    solve.numbers[RHO] = rho;
    solve.numbers[GOAL] = solve.tolerance * solve.tolerance * square;
    if (square <= 0.0) solve.numbers[STATE] = SOLVED;
}

// ------------------------------------------------------------------ conjugate gradients

// 1. z = the preconditioner's of r = b
DEVICE few<2> cg_smoothed(whole first) { return with_squares(solve.r, solve.z, first); }
DEVICE few<2> curvature(whole first) {
    few<2> sum = {};
    for (ROWS_FROM(i, first)) sum.v[0] += inner(row<3>(solve.p, i), row<3>(solve.q, i));
    return sum;
}
// 3. alpha = r.z / p.A p
DEVICE void cg_length(double curvature, double) {
    solve.numbers[ALPHA] = solve.numbers[RHO] / curvature;
    if (!(curvature > 0.0)) solve.numbers[STATE] = curvature <= 0.0 ? INDEFINITE : STUCK;
}
// 7. beta = r.z / (r.z of before)
DEVICE void cg_turn(double rho, double square) {
    solve.numbers[BETA] = rho / solve.numbers[RHO];
    solve.numbers[RHO] = rho;
    solve.numbers[COUNT] += 1.0;
    if (square <= solve.numbers[GOAL]) solve.numbers[STATE] = SOLVED;
}

MOMENTS_KERNEL(cg_moments, r)
SUMMING_KERNEL(cg_smooth, cg_smoothed)
RULE_KERNEL(cg_first, first_numbers)
PRODUCT_KERNEL(cg_product, p, q)
SUMMING_KERNEL(cg_curve, curvature)
RULE_KERNEL(cg_alpha, cg_length)
// 4., 5. x += alpha p, r -= alpha A p
KERNEL cg_move() {
    WHILE_IT_GOES_ON
    const double alpha = solve.numbers[ALPHA];
    EACH_ROW(i, job.rows) {
        put(solve.x, i, row<3>(solve.x, i) + alpha * row<3>(solve.p, i));
        put(solve.r, i, row<3>(solve.r, i) + -alpha * row<3>(solve.q, i));
    }
}
RULE_KERNEL(cg_beta, cg_turn)
// 8. p = z + beta p
KERNEL cg_direction() {
    WHILE_IT_GOES_ON
    EACH_ROW(i, job.rows) put(solve.p, i, row<3>(solve.z, i) + solve.numbers[BETA] * row<3>(solve.p, i));
}

// ------------------------------------------------------------------ BiCGStab; v = A y

// 1., 2. of r = b: shadow = p = r, y = the preconditioner's of p
KERNEL bi_begin() {
    WHILE_IT_GOES_ON
    EACH_ROW(i, job.rows) {
        const few<3> r = row<3>(solve.r, i);
        put(solve.p, i, r);
        put(solve.shadow, i, r);
    }
}
DEVICE few<2> bi_started(whole first) { return with_squares(solve.p, solve.y, first); }
DEVICE void bi_first_numbers(double, double square) { first_numbers(square, square); }
DEVICE few<2> along_shadow(whole first) {
    few<2> sum = {};
    for (ROWS_FROM(i, first)) sum.v[0] += inner(row<3>(solve.shadow, i), row<3>(solve.v, i));
    return sum;
}
// 4. alpha = shadow.r / shadow.v
DEVICE void bi_length(double along, double) {
    const double alpha = solve.numbers[RHO] / along;
    solve.numbers[ALPHA] = alpha;
    if (!(alpha - alpha == 0.0)) solve.numbers[STATE] = STUCK;
}
// 5. s = r - alpha v, in its place
KERNEL bi_half() {
    WHILE_IT_GOES_ON
    EACH_ROW(i, job.rows) {
        put(solve.r, i, row<3>(solve.r, i) + -solve.numbers[ALPHA] * row<3>(solve.v, i));
    }
}
DEVICE few<2> least(whole first) {
    few<2> sum = {};
    for (ROWS_FROM(i, first)) {
        const few<3> q = row<3>(solve.q, i);
        sum.v[0] += inner(q, row<3>(solve.r, i));
        sum.v[1] += inner(q, q);
    }
    return sum;
}
// 6. omega = q.s / q.q with q = A z; zero where s is
DEVICE void bi_least(double along, double square) {
    solve.numbers[OMEGA] = square > 0.0 ? along / square : 0.0;
}
// 7., 8. x += alpha y + omega z, r = s - omega q
DEVICE few<2> bi_moved(whole first) {
    const double alpha = solve.numbers[ALPHA], omega = solve.numbers[OMEGA];
    few<2> sum = {};
    for (ROWS_FROM(i, first)) {
        const few<3> step = alpha * row<3>(solve.y, i) + omega * row<3>(solve.z, i);
        put(solve.x, i, row<3>(solve.x, i) + step);
        const few<3> r = row<3>(solve.r, i) + -omega * row<3>(solve.q, i);
        put(solve.r, i, r);
        sum.v[0] += inner(row<3>(solve.shadow, i), r);
        sum.v[1] += inner(r, r);
    }
    return sum;
}
// 9. beta = (shadow.r / shadow.r of before) alpha / omega
DEVICE void bi_turn(double rho, double square) {
    double *n = solve.numbers;
    n[BETA] = rho / n[RHO] * (n[ALPHA] / n[OMEGA]);
    n[RHO] = rho;
    n[COUNT] += 2.0;
    if (square <= n[GOAL]) n[STATE] = SOLVED;
    else if (!(n[BETA] - n[BETA] == 0.0) || rho == 0.0) n[STATE] = STUCK;
}

SUMMING_KERNEL(bi_start, bi_started)
RULE_KERNEL(bi_first, bi_first_numbers)
MOMENTS_KERNEL(bi_moments_p, p)
MOMENTS_KERNEL(bi_moments_s, r)
KERNEL bi_smooth_p() {
    WHILE_IT_GOES_ON
    EACH_ROW(i, job.rows) put(solve.y, i, preconditioned(i, row<3>(solve.p, i)));
}
KERNEL bi_smooth_s() {
    WHILE_IT_GOES_ON
    EACH_ROW(i, job.rows) put(solve.z, i, preconditioned(i, row<3>(solve.r, i)));
}
PRODUCT_KERNEL(bi_product, y, v)
SUMMING_KERNEL(bi_along, along_shadow)
RULE_KERNEL(bi_alpha, bi_length)
PRODUCT_KERNEL(bi_second, z, q)
SUMMING_KERNEL(bi_least_of, least)
RULE_KERNEL(bi_omega, bi_least)
SUMMING_KERNEL(bi_move, bi_moved)
RULE_KERNEL(bi_beta, bi_turn)
// 10. p = r + beta (p - omega v)
KERNEL bi_direction() {
    WHILE_IT_GOES_ON
    const double beta = solve.numbers[BETA], omega = solve.numbers[OMEGA];
    EACH_ROW(i, job.rows) {
        const few<3> before = row<3>(solve.p, i) + -omega * row<3>(solve.v, i);
        put(solve.p, i, row<3>(solve.r, i) + beta * before);
    }
}
