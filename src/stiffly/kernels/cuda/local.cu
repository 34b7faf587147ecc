// Local/global iterations of a body on a card: what solvers/local_global.py does as long as nothing
// is in its way.  Where something is, nothing more happens, and the host goes on from the point
// that was reached.
//
//     r(d) = m (d - alpha a(p + d, q + ratio d)),   z = A^-1 r (tree.cu),   d <- d - s z
//
// Accelerated ones (local_...quick) have L-BFGS around A^-1, see solvers/secants.py: inner products of
// its two loops are those of pairs with each other, r and z, so that each loop is one sum over rows.

// All fields have eight bytes: local.py fills them in this order.
struct Local {
    const double *p, *q;     // (rows, 3), as the system numbers those that move; so are the next
    const double *guess;     // null where it is zero
    double *d, *e;           // the point, and where it goes
    double *r, *next;        // the residuals there
    double *b, *z;           // A z = b, where b is r itself unless iterations are quick
    double *changes, *yields;  // (SLOTS, rows, 3): of quick ones changes of d, and of r by them
    const double *known;     // (touches, rows of the body): contact that A knows of
    double *shares;          // (SHARES, MOST)
    double *numbers;
    double alpha, ratio;     // of the method [s^2], [1/s]
    double covered, digits;  // beside |M d| in what residuals are measured against; |dx| that is lost
    double converged, steeper, armijo, least;
};

#ifndef SHIM
__constant__
#endif
    Local local;

#define SLOTS 6  // of pairs: those that are kept, and the one that comes
#define MOST 14  // sums at once
// numbers.  ORDER: slots of pairs, from the oldest on, then free ones; SHARE: of each slot, what a
// loop takes of it; GRAM: changes_k . yields_m
enum { STATE, LEFT, STEP, NORM, SIZE, SLOPE, EVALUATED, SOLVED, TAKEN, MET, TROUBLE, QUICK };
enum { PAIRED = 12, PAIRS, ORDER, SHARE = ORDER + SLOTS, GRAM = SHARE + SLOTS };
enum { GOES_ON, ENDED, CONVERGED, STOPPED };  // states
#define NUMBER(name) local.numbers[name]
#define WHILE_IT_GOES_ON                                                                           \
    if (NUMBER(STATE) != GOES_ON) return;

template <int N> struct Sums {
    double v[N];
};
template <int N> DEVICE Sums<N> operator+(Sums<N> a, const Sums<N> &b) {
    for (int k = 0; k < N; ++k) a.v[k] += b.v[k];
    return a;
}
#ifdef SHIM
#define SHARES 4
#define EACH_WARP(w, count) for (whole w = 0; w < (count); ++w)
#define OF_WARP(sum, part)                                                                         \
    sum = {};                                                                                      \
    for (int lane = 0; lane < 32; ++lane) sum = sum + part;
#else
#define SHARES 512  // of a sum: a warp each
#define EACH_WARP(w, count)                                                                        \
    const whole w = THREAD / 32;                                                                   \
    const int lane = THREAD % 32;                                                                  \
    if (w < (count))
template <int N> DEVICE Sums<N> of_warp(Sums<N> a) {
#pragma unroll
    for (int hop = 16; hop; hop /= 2)
#pragma unroll
        for (int k = 0; k < N; ++k) a.v[k] += __shfl_xor_sync(0xffffffffu, a.v[k], hop);
    return a;
}
#define OF_WARP(sum, part) sum = of_warp(part);
#endif

DEVICE vec three(const double *x, whole j) { return make(x[3 * j], x[3 * j + 1], x[3 * j + 2]); }
DEVICE void put(double *x, whole j, vec a) {
    x[3 * j] = a.x;
    x[3 * j + 1] = a.y;
    x[3 * j + 2] = a.z;
}

// N sums over all rows, and the rule that follows from them
#define SUMMING_KERNEL(name, N, term)                                                              \
    DEVICE Sums<N> name##_share(const Body *b, whole first) {                                      \
        Sums<N> sum = {};                                                                          \
        for (whole i = first; i < b->own; i += 32 * SHARES) sum = sum + term(b, i);                \
        return sum;                                                                                \
    }                                                                                              \
    KERNEL name() {                                                                                \
        WHILE_IT_GOES_ON                                                                           \
        BODY EACH_WARP(w, SHARES) {                                                                \
            Sums<N> OF_WARP(sum, name##_share(b, 32 * w + lane))                                   \
            FIRST_LANE {                                                                           \
                for (int k = 0; k < N; ++k) local.shares[MOST * w + k] = sum.v[k];                 \
            }                                                                                      \
        }                                                                                          \
    }
template <int N> DEVICE Sums<N> shares_of(int lane) {
    Sums<N> sum = {};
    for (whole w = lane; w < SHARES; w += 32)
        for (int k = 0; k < N; ++k) sum.v[k] += local.shares[MOST * w + k];
    return sum;
}
#define RULE_KERNEL(name, N, rule)                                                                 \
    KERNEL name() {                                                                                \
        WHILE_IT_GOES_ON                                                                           \
        EACH_WARP(w, 1) {                                                                          \
            Sums<N> OF_WARP(sum, shares_of<N>(lane))                                               \
            FIRST_LANE rule(sum);                                                                  \
        }                                                                                          \
    }

// ------------------------------------------------------------------ positions and forces

DEVICE void stand(const Body *b, whole i, whole j, vec d) {
    put(local.e, j, d);
    store(b->x, i, three(local.p, j) + d);
    store(b->ahead, i, three(local.q, j) + local.ratio * d);
}

KERNEL local_start() {
    BODY EACH_ROW(i, b->own) {
        const whole j = b->place[i];
        stand(b, i, j, local.guess ? three(local.guess, j) : make(0.0, 0.0, 0.0));
    }
}

KERNEL local_move() {
    if (NUMBER(STATE) > ENDED) return;
    BODY EACH_ROW(i, b->own) {
        const whole j = b->place[i];
        stand(b, i, j, three(local.d, j) - NUMBER(STEP) * three(local.z, j));
    }
}

// whether a row touches what A knows nothing of
DEVICE bool meets(const Body *b, whole i, vec p) {
    for (whole c = 0; c < b->touches; ++c) {
        const double *q = surface(b, c, 0), margin = b->margin[c];
        if (b->touch[c * b->rows + i] == 0.0 || local.known[c * b->rows + i] != 0.0) continue;
        if (!far(b->kind[c], q, p, margin) && distance(b->kind[c], q, p) < margin) return true;
    }
    return false;
}

KERNEL local_force() {
    WHILE_IT_GOES_ON
    BODY EACH_ROW_BY_LANES(i, b->own) {
        const double *x = b->x;
        vec OF_LANES(
            force, elastic(b, i, lane, x) + loads(b, i, lane, entry_of(b, 0, 0), x, b->ahead).force
        )
        FIRST_LANE {
            const vec at = load(x, i);
            const whole j = b->place[i];
            const vec a = pulled(b, i, 0, force, at, load(b->ahead, i));
            put(local.next, j, b->mass[i] * (three(local.e, j) - local.alpha * a));
            if (HAS_TOUCHES && meets(b, i, at)) NUMBER(MET) = 1.0;
        }
    }
}

// a slot of pairs
DEVICE double *slot(double *pairs, const Body *b, whole k) { return pairs + 3 * b->own * k; }
DEVICE whole numbered(whole k) { return (whole)NUMBER(ORDER + k); }

KERNEL local_take() {
    if (NUMBER(TAKEN) == 0.0) return;
    BODY EACH_ROW(j, b->own) {
        const vec e = three(local.e, j), next = three(local.next, j);
        if (NUMBER(QUICK) != 0.0) {
            const whole c = numbered(NUMBER(PAIRS));
            put(slot(local.changes, b, c), j, e - three(local.d, j));
            put(slot(local.yields, b, c), j, next - three(local.r, j));
        }
        put(local.d, j, e);
        put(local.r, j, next);
    }
}

// ------------------------------------------------------------------ what is decided

// |z|^2, r.z
DEVICE Sums<2> way_of(const Body *b, whole j) {
    const vec z = three(local.z, j);
    return {{dot(z, z), dot(three(local.r, j), z)}};
}
DEVICE void turn(const Sums<2> &sum) {
    const double slope = sum.v[1];
    NUMBER(TAKEN) = 0.0;
    if (!(slope > 0.0) || sqrt(sum.v[0]) <= local.digits) {
        NUMBER(STATE) = STOPPED;
        return;
    }
    NUMBER(SLOPE) = slope;
    NUMBER(SOLVED) += 1.0;
    // else the end is evaluated, too
    if (NUMBER(LEFT) == 0.0 && NUMBER(TROUBLE) == 0.0) NUMBER(STATE) = ENDED;
}

// |r'|^2, r'.z, |M d'|^2
DEVICE Sums<3> found_of(const Body *b, whole i) {
    const whole j = b->place[i];
    const vec r = three(local.next, j), moved = b->mass[i] * three(local.e, j);
    return {{dot(r, r), dot(r, three(local.z, j)), dot(moved, moved)}};
}
DEVICE void take_it(const Sums<3> &sum, double demand) {
    NUMBER(TAKEN) = 1.0;
    NUMBER(EVALUATED) += 1.0;
    NUMBER(NORM) = sum.v[0];
    NUMBER(SIZE) = sum.v[2];
    if (sqrt(sum.v[0]) <= local.converged * demand) NUMBER(STATE) = CONVERGED;
}
DEVICE void first(const Sums<3> &sum) {
    NUMBER(PAIRED) = 0.0;
    NUMBER(NORM) = sum.v[0];
    if (sum.v[0] - sum.v[0] == 0.0) take_it(sum, sqrt(sum.v[2]));
    else NUMBER(STATE) = STOPPED;
}
// the slope along dx = -z has to fall, see `advance` in local_global.py
DEVICE void judge(const Sums<3> &sum) {
    const double slope = NUMBER(SLOPE), reached = -sum.v[1];
    const double curvature = (reached + slope) / (NUMBER(STEP) * slope);
    const bool falls = -local.steeper * slope <= reached && reached <= (1.0 - local.armijo) * slope;
    if (!falls || NUMBER(MET) != 0.0) {  // the host takes this iteration
        NUMBER(STATE) = STOPPED;
        NUMBER(SOLVED) -= 1.0;
        return;
    }
    NUMBER(STEP) = NUMBER(QUICK) != 0.0 ? 1.0 : 1.0 / more(1.0, curvature);
    NUMBER(LEFT) -= 1.0;
    NUMBER(PAIRED) = 1.0;
    take_it(sum, sqrt(sum.v[2]) + local.covered);
    if (NUMBER(LEFT) < 0.0) NUMBER(STATE) = CONVERGED;
}

SUMMING_KERNEL(local_way, 2, way_of)
RULE_KERNEL(local_turn, 2, turn)
SUMMING_KERNEL(local_found, 3, found_of)
RULE_KERNEL(local_first, 3, first)
RULE_KERNEL(local_judge, 3, judge)

// ------------------------------------------------------------------ L-BFGS

// of the pair that comes, (s, y): changes . y and changes . r of every slot, |s|^2, |y|^2
DEVICE Sums<MOST> pair_of(const Body *b, whole j) {
    const whole c = numbered(NUMBER(PAIRS));
    const vec s = three(slot(local.changes, b, c), j), y = three(slot(local.yields, b, c), j);
    const vec r = three(local.r, j);
    Sums<MOST> sum = {};
    for (int k = 0; k < SLOTS; ++k) {
        const vec change = three(slot(local.changes, b, k), j);
        sum.v[k] = dot(change, y);
        sum.v[SLOTS + k] = dot(change, r);
    }
    sum.v[2 * SLOTS] = dot(s, s);
    sum.v[2 * SLOTS + 1] = dot(y, y);
    return sum;
}
DEVICE double &gram(whole k, whole m) { return local.numbers[GRAM + SLOTS * k + m]; }
DEVICE void remember(const Sums<MOST> &sum) {
    whole count = NUMBER(PAIRS);
    const whole c = numbered(count);
    const double size = sqrt(sum.v[2 * SLOTS]) * sqrt(sum.v[2 * SLOTS + 1]);
    if (NUMBER(PAIRED) != 0.0 && sum.v[c] > local.least * size) {
        for (int k = 0; k < SLOTS; ++k) gram(k, c) = sum.v[k];
        if (count < SLOTS - 1) {
            NUMBER(PAIRS) = ++count;
        } else {  // the oldest one goes
            const double oldest = NUMBER(ORDER);
            for (int k = 0; k < SLOTS - 1; ++k) NUMBER(ORDER + k) = NUMBER(ORDER + k + 1);
            NUMBER(ORDER + SLOTS - 1) = oldest;
        }
    }
    for (whole i = count - 1; i >= 0; --i) {
        const whole k = numbered(i);
        double along = sum.v[SLOTS + k];
        for (whole m = i + 1; m < count; ++m)
            along -= NUMBER(SHARE + numbered(m)) * gram(k, numbered(m));
        NUMBER(SHARE + k) = along / gram(k, k);
    }
}
DEVICE vec shared(const Body *b, double *pairs, whole j) {
    vec sum = make(0.0, 0.0, 0.0);
    for (whole i = 0; i < NUMBER(PAIRS); ++i) {
        const whole k = numbered(i);
        sum = sum + NUMBER(SHARE + k) * three(slot(pairs, b, k), j);
    }
    return sum;
}
KERNEL local_ask_quick() {
    WHILE_IT_GOES_ON
    BODY EACH_ROW(j, b->own) put(local.b, j, three(local.r, j) - shared(b, local.yields, j));
}
DEVICE Sums<SLOTS> yield_of(const Body *b, whole j) {
    const vec z = three(local.z, j);
    Sums<SLOTS> sum;
    for (int k = 0; k < SLOTS; ++k) sum.v[k] = dot(three(slot(local.yields, b, k), j), z);
    return sum;
}
DEVICE void correct(const Sums<SLOTS> &sum) {
    for (whole i = 0; i < NUMBER(PAIRS); ++i) {
        const whole k = numbered(i);
        double along = sum.v[k];
        for (whole m = 0; m < i; ++m) along += NUMBER(SHARE + numbered(m)) * gram(numbered(m), k);
        NUMBER(SHARE + k) -= along / gram(k, k);
    }
}
DEVICE Sums<2> quick_way_of(const Body *b, whole j) {
    put(local.z, j, three(local.z, j) + shared(b, local.changes, j));
    return way_of(b, j);
}

SUMMING_KERNEL(local_pair_quick, MOST, pair_of)
RULE_KERNEL(local_remember_quick, MOST, remember)
SUMMING_KERNEL(local_yield_quick, SLOTS, yield_of)
RULE_KERNEL(local_correct_quick, SLOTS, correct)
SUMMING_KERNEL(local_way_quick, 2, quick_way_of)
