// Linear systems A x = b on a card, A in 3x3 blocks: conjugate gradients (cg_...) where A is
// symmetric, BiCGStab (bi_...) where it is not, both with the inverses of the diagonal blocks as
// preconditioner.
//
// Hestenes and Stiefel 1952; van der Vorst, Bi-CGSTAB, SIAM J. Sci. Stat. Comput. 13 (1992).  Step
// numbers are those of Saad, Iterative Methods for Sparse Linear Systems (2003), Algorithms 9.1 and
// 7.7 (preconditioned from the right).  Scalars stay on the card: iterations are recorded ahead, and
// those after the end do nothing.

// All fields have eight bytes: solve.py fills them in this order.
struct Solve {
    double *inverse;                              // (rows, 9), of the diagonal blocks of A
    double *x, *r, *p, *q, *z, *y, *v, *shadow;  // (rows, 3)
    double *shares;                               // (SHARES, 2)
    double *numbers;
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

// two sums of all lanes of a warp
#ifdef SHIM
#define BOTH_OF_WARP(sum, part)                                                                    \
    sum = {};                                                                                      \
    for (int lane = 0; lane < 32; ++lane) sum = sum + part;
#else
#define BOTH_OF_WARP(sum, part)                                                                    \
    sum = part;                                                                                    \
    for (int hop = 16; hop; hop /= 2) {                                                            \
        sum.v[0] += __shfl_xor_sync(0xffffffffu, sum.v[0], hop);                                   \
        sum.v[1] += __shfl_xor_sync(0xffffffffu, sum.v[1], hop);                                   \
    }
#endif

// rows of a lane of all warps; and the kernel that does job(first row) for two sums over all rows
#define ROWS_FROM(i, first) whole i = (first); i < job.rows; i += 32 * SHARES
#define SUMMING_KERNEL(name, sweep)                                                                \
    KERNEL name() {                                                                                \
        WHILE_IT_GOES_ON                                                                           \
        EACH_WARP(w, SHARES) {                                                                     \
            few<2> BOTH_OF_WARP(sum, sweep(32 * w + lane))                                         \
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
            few<2> BOTH_OF_WARP(sum, shares_of(lane))                                              \
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
DEVICE few<3> preconditioned(whole i, const few<3> &a) {
    const double *d = solve.inverse + 9 * i;
    few<3> sum;
    for (int k = 0; k < 3; ++k)
        sum.v[k] = d[3 * k] * a.v[0] + d[3 * k + 1] * a.v[1] + d[3 * k + 2] * a.v[2];
    return sum;
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

DEVICE void first_numbers(double rho, double square) {
    solve.numbers[RHO] = rho;
    solve.numbers[GOAL] = solve.tolerance * solve.tolerance * square;
    if (square <= 0.0) solve.numbers[STATE] = SOLVED;
}

// ------------------------------------------------------------------ conjugate gradients

// 1. of x = 0, r = b: z = D^-1 r, p = z
DEVICE few<2> cg_started(whole first) {
    few<2> sum = {};
    for (ROWS_FROM(i, first)) {
        const few<3> r = row<3>(solve.r, i), z = preconditioned(i, r);
        put(solve.x, i, few<3>{});
        put(solve.p, i, z);
        sum.v[0] += inner(r, z);
        sum.v[1] += inner(r, r);
    }
    return sum;
}
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
// 4., 5., 6. x += alpha p, r -= alpha A p, z = D^-1 r
DEVICE few<2> cg_moved(whole first) {
    const double alpha = solve.numbers[ALPHA];
    few<2> sum = {};
    for (ROWS_FROM(i, first)) {
        put(solve.x, i, row<3>(solve.x, i) + alpha * row<3>(solve.p, i));
        const few<3> r = row<3>(solve.r, i) + -alpha * row<3>(solve.q, i), z = preconditioned(i, r);
        put(solve.r, i, r);
        put(solve.z, i, z);
        sum.v[0] += inner(r, z);
        sum.v[1] += inner(r, r);
    }
    return sum;
}
// 7. beta = r.z / (r.z of before)
DEVICE void cg_turn(double rho, double square) {
    solve.numbers[BETA] = rho / solve.numbers[RHO];
    solve.numbers[RHO] = rho;
    solve.numbers[COUNT] += 1.0;
    if (square <= solve.numbers[GOAL]) solve.numbers[STATE] = SOLVED;
}

SUMMING_KERNEL(cg_start, cg_started)
RULE_KERNEL(cg_first, first_numbers)
PRODUCT_KERNEL(cg_product, p, q)
SUMMING_KERNEL(cg_curve, curvature)
RULE_KERNEL(cg_alpha, cg_length)
SUMMING_KERNEL(cg_move, cg_moved)
RULE_KERNEL(cg_beta, cg_turn)
// 8. p = z + beta p
KERNEL cg_direction() {
    WHILE_IT_GOES_ON
    EACH_ROW(i, job.rows) put(solve.p, i, row<3>(solve.z, i) + solve.numbers[BETA] * row<3>(solve.p, i));
}

// ------------------------------------------------------------------ BiCGStab; y = D^-1 p, v = A y

// 1., 2. of x = 0, r = b: the shadow, and p = r
DEVICE few<2> bi_started(whole first) {
    few<2> sum = {};
    for (ROWS_FROM(i, first)) {
        const few<3> r = row<3>(solve.r, i);
        put(solve.x, i, few<3>{});
        put(solve.shadow, i, r);
        put(solve.p, i, r);
        put(solve.y, i, preconditioned(i, r));
        sum.v[0] += inner(r, r);
        sum.v[1] += inner(r, r);
    }
    return sum;
}
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
// 5. s = r - alpha v, in its place; z = D^-1 s
KERNEL bi_half() {
    WHILE_IT_GOES_ON
    EACH_ROW(i, job.rows) {
        const few<3> s = row<3>(solve.r, i) + -solve.numbers[ALPHA] * row<3>(solve.v, i);
        put(solve.r, i, s);
        put(solve.z, i, preconditioned(i, s));
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
// 6. omega = q.s / q.q with q = A z; nothing where s is zero
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
RULE_KERNEL(bi_first, first_numbers)
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
        const few<3> p = row<3>(solve.r, i) + beta * before;
        put(solve.p, i, p);
        put(solve.y, i, preconditioned(i, p));
    }
}
