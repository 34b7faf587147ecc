// Explicit steps of a body of particles on a card: what kernels/cpu/stretch.py does, LANES threads a
// row.
//
// Rows are (x, y, z, 0): first those that move, then those that supports lead, then held ones, and
// a last one at which springs pull that only fill a slice.  A row gathers from its neighbours, so
// that nothing is added by two threads at once and every run has the same bits; an element between
// two rows is computed by both.  Each row keeps its own ledger, summed at the end.
//
// The same text is C++ where SHIM is defined (shim.h): threads are then turns of a loop.

#ifndef SHIM
#define DEVICE __device__ __forceinline__
#define KERNEL extern "C" __global__ void
#define THREAD ((long long)blockIdx.x * blockDim.x + threadIdx.x)
#define EACH_ROW(i, count)                                                                         \
    const long long i = THREAD;                                                                    \
    if (i < (count))
// all lanes of a row go through it, and the first one stores what they found
#define EACH_ROW_BY_LANES(i, count)                                                                \
    const long long i = THREAD / LANES;                                                            \
    const int lane = THREAD % LANES;                                                               \
    if (i < (count))
#define OF_LANES(sum, part)                                                                        \
    sum = part;                                                                                    \
    for (int hop = LANES / 2; hop; hop /= 2) sum = sum + shuffled(sum, hop);
#define FIRST_LANE if (lane == 0)
#endif

typedef long long whole;

// What a body has: code for what it has not would only take registers.
#ifndef HAS
#define HAS 255
#endif
#define HAS_LINEAR (HAS & 1)
#define HAS_CUBIC (HAS & 2)
#define HAS_FACES (HAS & 4)
#define HAS_TRIANGLES (HAS & 8)
#define HAS_DASHPOTS (HAS & 16)
#define HAS_TOUCHES (HAS & 32)
#define HAS_POWERS (HAS & 64)
#define HAS_YIELDS (HAS & 128)

#define SLICE (32 / LANES)  // rows whose entries lie side by side: a warp reads them at once
#define TINY 1e-300               // the square of a length that is taken for zero
#define ROUNDING (1.0 + 1e-12)    // as in kernels/cpu/springs.py
#define BEYOND (1.0 + 1e-6)       // times a reach: surely out of it
enum { PLANE, SPHERE, HEMISPHERE };
#define SUMS 4096
enum { ADDED, DISSIPATED, DEEPEST, TOUCHING };

struct vec {
    double x, y, z;
};

DEVICE vec make(double x, double y, double z) { vec r = {x, y, z}; return r; }
DEVICE vec operator+(vec a, vec b) { return make(a.x + b.x, a.y + b.y, a.z + b.z); }
DEVICE vec operator-(vec a, vec b) { return make(a.x - b.x, a.y - b.y, a.z - b.z); }
DEVICE vec operator*(double s, vec a) { return make(s * a.x, s * a.y, s * a.z); }
DEVICE double dot(vec a, vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
DEVICE vec cross(vec a, vec b) {
    return make(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
#ifdef SHIM
DEVICE vec load(const double *p, whole i) { return make(p[4 * i], p[4 * i + 1], p[4 * i + 2]); }
DEVICE void store(double *p, whole i, vec a) {
    p[4 * i] = a.x;
    p[4 * i + 1] = a.y;
    p[4 * i + 2] = a.z;
}
#else
// two words at once: rows are aligned
DEVICE vec load(const double *p, whole i) {
    double2 low = *(const double2 *)(p + 4 * i);
    return make(low.x, low.y, p[4 * i + 2]);
}
DEVICE void store(double *p, whole i, vec a) {
    *(double2 *)(p + 4 * i) = make_double2(a.x, a.y);
    *(double2 *)(p + 4 * i + 2) = make_double2(a.z, 0.0);  // whole sectors are written at once
}
#endif

#ifndef SHIM
DEVICE vec shuffled(vec a, int hop) {
    // the lanes of this row, wherever the others are
    const unsigned own = (0xffffffffu >> (32 - LANES)) << (threadIdx.x % 32 / LANES * LANES);
    return make(
        __shfl_xor_sync(own, a.x, hop), __shfl_xor_sync(own, a.y, hop),
        __shfl_xor_sync(own, a.z, hop)
    );
}
#endif

// All fields have eight bytes: kernels/cuda/stretch.py fills them in this order.

// slices of rows: entry e of row i at start[i / SLICE] + 32 (e / LANES) + LANES (i % SLICE) +
// e % LANES; far ends, or elements
struct Slices {
    const whole *start;
    const unsigned *other;
};

struct Springs {
    Slices rows;
    const double *stiffness;
    double *rest;
    const double *limit, *share;  // limit: null where none yields
    whole any;
};

struct Body {
    whole rows, own, led;  // ends of all, of those that move, of those that are led
    const unsigned *place;
    const whole *support;
    const double *home, *inverse, *mass;
    Springs linear, cubic;
    Slices faces;  // 4 tet + corner; corners (m, 4), stiffness (m,), rest (m, 4)
    const unsigned *face_corners;
    const double *face_stiffness, *face_rest;
    whole any_face;
    Slices triangles;  // 4 triangle + corner; corners (m, 3)
    const unsigned *corners;
    const double *pressure;
    const whole *which;
    whole any_triangle;
    Slices dashpots;
    const double *coefficient;
    whole any_dashpot;
    whole drags;
    const double *drag;
    const whole *drag_power, *drag_wind;
    whole forces;
    const double *weights;
    whole touches;
    const double *touch, *margin, *friction;
    const whole *kind, *moving;
    double gx, gy, gz, alpha;
    whole powers, local;  // the ledger has work to sum; no row's loads know of another's velocity
    // the state, the ledger of each row, and the steps that are done
    double *x, *v, *a, *ahead, *x0, *v0, *books, *power;
    whole *done;
    // what depends on time
    const double *supports, *surfaces, *winds, *given;
    whole entries, places;
    // the method
    const double *kicks, *drifts;
    whole stages;
    double h;
};

#ifndef SHIM
__constant__
#endif
    Body body;
#define BODY const Body *b = &body;

// of a row and a lane: where its entries begin, and where the slice ends
#define ENTRIES(p, slices)                                                                         \
    whole p = (slices).start[i / SLICE] + LANES * (i % SLICE) + lane,                              \
          end = (slices).start[i / SLICE + 1];                                                     \
    p < end;                                                                                       \
    p += 32

DEVICE double fewer(double a, double b) { return a < b ? a : b; }
DEVICE double more(double a, double b) { return a > b ? a : b; }

// entry of the tables: the end of drift s of the step
DEVICE whole entry_of(const Body *b, whole n, whole s) { return 2 + n * (b->stages + 1) + s; }

// ------------------------------------------------------------------ elastic forces

DEVICE double spring_scale(double square, double stiffness, double rest, bool cubic) {
    double L = sqrt(more(square, TINY));
    double scale = stiffness - stiffness * rest / L;
    if (cubic) {
        double strain = L / rest - 1.0;
        scale *= 1.0 + strain * strain;
    }
    return scale;
}

DEVICE vec spring_forces(
    const Springs *s, bool cubic, whole i, int lane, vec here, const double *x
) {
    vec force = make(0.0, 0.0, 0.0);
#pragma unroll 4
    for (ENTRIES(p, s->rows)) {
        vec d = here - load(x, s->rows.other[p]);
        force = force - spring_scale(dot(d, d), s->stiffness[p], s->rest[p], cubic) * d;
    }
    return force;
}

// springs from the corners of tets to the opposite faces: see kernels/cpu/face_springs.py
DEVICE vec face_forces(const Body *b, whole i, int lane, const double *x) {
    vec force = make(0.0, 0.0, 0.0);
    for (ENTRIES(p, b->faces)) {
        unsigned t = b->faces.other[p] / 4, mine = b->faces.other[p] % 4;
        if (t >= b->any_face) continue;
        vec at[4], sum = make(0.0, 0.0, 0.0), mean = sum, own = sum;
        for (int k = 0; k < 4; ++k) {
            at[k] = load(x, b->face_corners[4 * t + k]);
            sum = sum + at[k];
        }
        for (int k = 0; k < 4; ++k) {
            vec d = at[k] - (1.0 / 3.0) * (sum - at[k]);
            d = spring_scale(dot(d, d), b->face_stiffness[t], b->face_rest[4 * t + k], false) * d;
            mean = mean + (1.0 / 3.0) * d;
            if (k == (int)mine) own = d;
        }
        force = force + (mean - (4.0 / 3.0) * own);
    }
    return force;
}

// a lane's share of them
DEVICE vec elastic(const Body *b, whole i, int lane, const double *x) {
    vec here = load(x, i);
    vec force = make(0.0, 0.0, 0.0);
    if (HAS_LINEAR) force = force + spring_forces(&b->linear, false, i, lane, here, x);
    if (HAS_CUBIC) force = force + spring_forces(&b->cubic, true, i, lane, here, x);
    if (HAS_FACES) force = force + face_forces(b, i, lane, x);
    return force;
}

// ------------------------------------------------------------------ surfaces

struct Half {
    int part;
    vec y, w;
    double z, rho, length;
};

DEVICE Half half_ball(const double *q, vec p) {
    Half r;
    vec a = make(q[4], q[5], q[6]);
    r.y = p - make(q[0], q[1], q[2]);
    r.z = dot(a, r.y);
    r.w = r.y - r.z * a;
    r.rho = sqrt(dot(r.w, r.w));
    r.length = sqrt(dot(r.y, r.y));
    r.part = r.z >= 0.0 ? (r.length - q[3] >= -r.z ? 0 : 1) : (r.rho <= q[3] ? 1 : 2);
    return r;
}

DEVICE double distance(whole kind, const double *q, vec p) {
    if (kind == PLANE) return dot(make(q[0], q[1], q[2]), p - make(q[3], q[4], q[5])) + q[6];
    vec y = p - make(q[0], q[1], q[2]);
    if (kind == SPHERE) return q[4] * (sqrt(dot(y, y)) - q[3]);
    Half r = half_ball(q, p);
    if (r.part == 0) return r.length - q[3];
    if (r.part == 1) return -r.z;
    return sqrt((r.rho - q[3]) * (r.rho - q[3]) + r.z * r.z);
}

DEVICE vec normal(whole kind, const double *q, vec p) {
    if (kind == PLANE) return make(q[0], q[1], q[2]);
    vec y = p - make(q[0], q[1], q[2]);
    if (kind == SPHERE) {
        double length = sqrt(dot(y, y));
        return (length > 0.0 ? q[4] / length : 0.0) * y;
    }
    Half r = half_ball(q, p);
    vec a = make(q[4], q[5], q[6]);
    if (r.part == 0) return (1.0 / r.length) * r.y;
    if (r.part == 1) return -1.0 * a;
    double out = r.rho - q[3], d = sqrt(out * out + r.z * r.z);
    return (out / (r.rho * d)) * r.w + (r.z / d) * a;
}

// surely no contact: without a root
DEVICE bool far(whole kind, const double *q, vec p, double margin) {
    if (kind == PLANE || (kind == SPHERE && q[4] < 0.0)) return false;
    vec y = p - make(q[0], q[1], q[2]);
    double reach = q[3] + margin;
    return dot(y, y) > BEYOND * reach * reach;
}

DEVICE const double *surface(const Body *b, whole c, whole place) {
    return b->surfaces + 16 * (c * b->places + place);
}

DEVICE vec contact_forces(const Body *b, whole i, whole place, vec p) {
    vec force = make(0.0, 0.0, 0.0);
    for (whole c = 0; c < b->touches; ++c) {
        const double *q = surface(b, c, place);
        double k = b->touch[c * b->rows + i], margin = b->margin[c];
        if (k == 0.0 || far(b->kind[c], q, p, margin)) continue;
        double s = distance(b->kind[c], q, p) - margin;
        if (s < 0.0) force = force - (k * s) * normal(b->kind[c], q, p);
    }
    return force;
}

// ------------------------------------------------------------------ loads

struct Load {
    vec force;
    double added, taken;  // [W], or [J] between two steps
};

DEVICE Load operator+(Load a, Load c) {
    Load r = {a.force + c.force, a.added + c.added, a.taken + c.taken};
    return r;
}

#ifndef SHIM
DEVICE Load shuffled(Load a, int hop) {
    vec power = shuffled(make(a.added, a.taken, 0.0), hop);
    Load r = {shuffled(a.force, hop), power.x, power.y};
    return r;
}
#endif

DEVICE vec timed(const double *table, const Body *b, whole which, whole entry) {
    return load(table, which * b->entries + entry);
}

// what wind on its triangles pushes this corner with: a third of each
DEVICE void wind(
    const Body *b, whole i, int lane, whole entry, const double *x, const double *v, Load *r
) {
    for (ENTRIES(p, b->triangles)) {
        unsigned t = b->triangles.other[p] / 4;
        if (t >= b->any_triangle || b->pressure[t] == 0.0) continue;
        const unsigned *c = b->corners + 3 * t;
        vec w = timed(b->winds, b, b->which[t], entry);
        vec u = w - (1.0 / 3.0) * (load(v, c[0]) + load(v, c[1]) + load(v, c[2]));
        vec at = load(x, c[0]);
        vec area = 0.5 * cross(load(x, c[1]) - at, load(x, c[2]) - at);
        double along = dot(u, area), square = more(dot(area, area), TINY);
        vec push = (1.0 / 3.0 * b->pressure[t] * fabs(along) * along / square) * area;
        r->force = r->force + push;
        r->added += dot(push, w);
        r->taken += dot(push, u);
    }
}

DEVICE void damp(const Body *b, whole i, int lane, const double *x, const double *v, Load *r) {
    vec here = load(x, i), speed = load(v, i);
    for (ENTRIES(p, b->dashpots)) {
        vec d = here - load(x, b->dashpots.other[p]), w = speed - load(v, b->dashpots.other[p]);
        double square = dot(d, d);
        if (square == 0.0) continue;
        vec pull = (b->coefficient[p] * dot(d, w) / square) * d;
        r->force = r->force - pull;
        r->taken += 0.5 * dot(pull, w);
    }
}

// a lane's share of them
DEVICE Load loads(
    const Body *b, whole i, int lane, whole entry, const double *x, const double *v
) {
    Load r = {make(0.0, 0.0, 0.0), 0.0, 0.0};
    if (lane == 0 && i < b->led) {
        vec speed = load(v, i);
        for (whole d = 0; d < b->drags; ++d) {
            vec w = timed(b->winds, b, b->drag_wind[d], entry), u = w - speed;
            double scale = b->drag[d * b->rows + i];
            if (b->drag_power[d] == 2) scale *= sqrt(dot(u, u));
            vec push = scale * u;
            r.force = r.force + push;
            r.added += dot(push, w);
            r.taken += dot(push, u);
        }
        for (whole d = 0; d < b->forces; ++d) {
            vec push = b->weights[d * b->rows + i] * timed(b->given, b, d, entry);
            r.force = r.force + push;
            r.added += dot(push, speed);
        }
    }
    if (HAS_TRIANGLES) wind(b, i, lane, entry, x, v, &r);
    if (HAS_DASHPOTS) damp(b, i, lane, x, v, &r);
    return r;
}

// what loads, damping and supports add and take [W] at this row: a lane's share, as (added, taken, 0)
DEVICE vec power_of(
    const Body *b, whole i, int lane, whole entry, const double *x, const double *v
) {
    Load r = loads(b, i, lane, entry, x, v);
    vec speed = load(v, i);
    if (lane == 0 && i < b->own) r.taken += b->alpha * b->mass[i] * dot(speed, speed);
    if (i >= b->own && i < b->led) r.added -= dot(r.force + elastic(b, i, lane, x), speed);
    return make(r.added, r.taken, 0.0);
}

// ------------------------------------------------------------------ steps

// particles on supports go where those are
DEVICE void lead(const Body *b, whole i, whole entry, double *x, double *v) {
    const double *m = b->supports + 24 * (b->support[i] * b->entries + entry);
    const double *home = b->home + 3 * i;
    for (int k = 0; k < 3; ++k) {
        double at = m[9 + k], speed = m[21 + k];
        for (int q = 0; q < 3; ++q) {
            at += m[3 * k + q] * home[q];
            speed += m[12 + 3 * k + q] * home[q];
        }
        x[4 * i + k] = at;
        v[4 * i + k] = speed;
    }
}

// v += k_0 h a, x += d_s h v, and the velocity that the next kick will lead to
KERNEL drift(whole later, whole s) {
    BODY EACH_ROW(i, b->led) {
        whole entry = entry_of(b, *b->done + later, s);
        if (s == 0 && b->powers) {
            store(b->x0, i, load(b->x, i));
            store(b->v0, i, load(b->v, i));
        }
        if (i < b->own) {
            vec a = load(b->a, i), v = load(b->v, i);
            if (s == 0) v = v + (b->kicks[0] * b->h) * a;
            store(b->v, i, v);
            store(b->x, i, load(b->x, i) + (b->drifts[s] * b->h) * v);
            store(b->ahead, i, v + (b->kicks[s + 1] * b->h) * a);
        } else {
            lead(b, i, entry, b->x, b->v);
            store(b->ahead, i, load(b->v, i));
        }
    }
}

// the power at the end of a step, with which the next one begins; later = -1: at the start of all
KERNEL power_now(whole later, whole from) {
    BODY EACH_ROW_BY_LANES(k, b->rows - 1 - from) {
        whole i = from + k, entry = entry_of(b, *b->done + later, b->stages - 1);
        vec OF_LANES(now, power_of(b, i, lane, entry, b->x, b->v))
        FIRST_LANE {
            b->power[2 * i] = now.x;
            b->power[2 * i + 1] = now.y;
        }
    }
}

// x0, v0 go to the middle of the cubic through both ends of the step
DEVICE void to_middle(const Body *b, whole i, whole n) {
    if (i < b->own) {
        vec x0 = load(b->x0, i), v0 = load(b->v0, i), x1 = load(b->x, i), v1 = load(b->v, i);
        store(b->x0, i, 0.5 * (x0 + x1) + (0.125 * b->h) * (v0 - v1));
        store(b->v0, i, (1.5 / b->h) * (x1 - x0) - 0.25 * (v0 + v1));
    } else {
        lead(b, i, entry_of(b, n, -1), b->x0, b->v0);
    }
}

KERNEL middle(whole later, whole from) {
    BODY EACH_ROW(k, b->led - from) { to_middle(b, from + k, *b->done + later); }
}

// the work of a step by Simpson's rule
DEVICE void add_work(const Body *b, whole i, vec half, vec now) {
    double *start = b->power + 2 * i, *own = b->books + 4 * i;
    own[ADDED] += b->h / 6.0 * (start[0] + 4.0 * half.x + now.x);
    own[DISSIPATED] += b->h / 6.0 * (start[1] + 4.0 * half.y + now.y);
    start[0] = now.x;
    start[1] = now.y;
}

KERNEL book(whole later, whole from) {
    BODY EACH_ROW_BY_LANES(k, b->rows - 1 - from) {
        whole i = from + k, n = *b->done + later, last = entry_of(b, n, b->stages - 1);
        vec OF_LANES(half, power_of(b, i, lane, entry_of(b, n, -1), b->x0, b->v0))
        vec OF_LANES(now, power_of(b, i, lane, last, b->x, b->v))
        FIRST_LANE { add_work(b, i, half, now); }
    }
}

// ------------------------------------------------------------------ between two steps

// takes at most `most` [m/s] of the sliding along a shape, and books it
DEVICE void slow(const Body *b, whole i, const double *q, vec n, double most, double *own) {
    vec y = load(b->x, i) - make(q[7], q[8], q[9]);
    vec motion = make(q[10], q[11], q[12]) + cross(make(q[13], q[14], q[15]), y);
    vec old = load(b->v, i), relative = old - motion;
    vec along = relative - dot(relative, n) * n;
    double speed = sqrt(dot(along, along)), mass = b->mass[i];
    if (speed == 0.0) return;
    vec change = -fewer(1.0, most / speed) * along;
    store(b->v, i, old + change);
    store(b->ahead, i, load(b->ahead, i) + change);
    store(b->a, i, load(b->a, i) - b->alpha * change);
    double work = mass * dot(change, motion);
    own[ADDED] += work;
    own[DISSIPATED] += work - 0.5 * mass * dot(change, old + old + change);
}

// friction against shapes as they stood during the step, then they go on to their next places
DEVICE void touch(const Body *b, whole i, whole n, double *own) {
    for (whole c = 0; c < b->touches; ++c) {
        const double *q = surface(b, c, n), *to = surface(b, c, n + 1);
        double k = b->touch[c * b->rows + i], margin = b->margin[c], friction = b->friction[c];
        bool moving = b->moving[c];
        whole kind = b->kind[c];
        vec p = load(b->x, i);
        if (k == 0.0 || (far(kind, q, p, margin) && (!moving || far(kind, to, p, margin)))) continue;
        double d = distance(kind, q, p), s0 = fewer(0.0, d - margin);
        double s1 = moving ? fewer(0.0, distance(kind, to, p) - margin) : s0;
        own[DEEPEST] = more(own[DEEPEST], -d);
        if (s0 == 0.0 && s1 == 0.0) continue;
        vec m = normal(kind, q, p);
        if (s0 < 0.0) {
            own[TOUCHING] += 1.0;
            if (friction > 0.0)
                slow(b, i, q, m, -friction * b->h * k * s0 * b->inverse[i], own);
        }
        if (moving) {
            own[ADDED] += 0.5 * k * (s1 * s1 - s0 * s0);
            vec push = s0 * m - s1 * normal(kind, to, p);
            store(b->a, i, load(b->a, i) + (k * b->inverse[i]) * push);
        }
    }
}

DEVICE double spring_energy(double L, double k, double rest, bool cubic) {
    double u = L - rest, energy = 0.5 * k * u * u;
    return cubic ? energy * (1.0 + 0.5 * (u / rest) * (u / rest)) : energy;
}

// springs strained beyond their limit: both ends see it, and each books half of what is lost; a
// lane's share of the change of the force, and of the energy lost
DEVICE void yields(const Body *b, const Springs *s, bool cubic, whole i, int lane, Load *r) {
    if (!HAS_YIELDS || !s->limit) return;
    vec here = load(b->x, i);
    for (ENTRIES(p, s->rows)) {
        vec d = here - load(b->x, s->rows.other[p]);
        double L = sqrt(dot(d, d)), k = s->stiffness[p], rest = s->rest[p], strain = L / rest - 1.0;
        if (!(fabs(strain) > ROUNDING * s->limit[p]) || L == 0.0) continue;
        double next = L / (1.0 + copysign(s->limit[p], strain));
        s->rest[p] = next;
        double change = spring_scale(L * L, k, next, cubic) - spring_scale(L * L, k, rest, cubic);
        r->force = r->force - change * d;
        double lost = spring_energy(L, k, rest, cubic) - spring_energy(L, k, next, cubic);
        r->taken += 0.5 * s->share[p] * lost;
    }
}

DEVICE Load yielded(const Body *b, whole i, int lane) {
    Load r = {make(0.0, 0.0, 0.0), 0.0, 0.0};
    if (HAS_LINEAR) yields(b, &b->linear, false, i, lane, &r);
    if (HAS_CUBIC) yields(b, &b->cubic, true, i, lane, &r);
    return r;
}

KERNEL settle(whole later) {
    BODY EACH_ROW_BY_LANES(i, b->rows - 1) {
        Load OF_LANES(r, yielded(b, i, lane))
        FIRST_LANE {
            double *own = b->books + 4 * i;
            own[TOUCHING] = 0.0;
            if (i < b->own) {
                touch(b, i, *b->done + later, own);
                store(b->a, i, load(b->a, i) + b->inverse[i] * r.force);
            }
            own[DISSIPATED] += r.taken;
        }
    }
}

// ------------------------------------------------------------------ forces

// what a row can do alone once it has its new velocity: its work, and what happens between steps
DEVICE void finish(const Body *b, whole i, whole n) {
    whole last = entry_of(b, n, b->stages - 1);
    if (HAS_POWERS && b->powers) {
        to_middle(b, i, n);
        vec half = power_of(b, i, 0, entry_of(b, n, -1), b->x0, b->v0);
        add_work(b, i, half, power_of(b, i, 0, last, b->x, b->v));
    }
    if (HAS_TOUCHES && b->touches) {
        double *own = b->books + 4 * i;
        own[TOUCHING] = 0.0;
        touch(b, i, n, own);
        if (HAS_POWERS && b->powers) {
            vec now = power_of(b, i, 0, last, b->x, b->v);
            b->power[2 * i] = now.x;
            b->power[2 * i + 1] = now.y;
        }
    }
}

// a = force / mass + field - alpha v, with v as predicted; v += k_s h a, unless it is done `again`
KERNEL accelerate(whole later, whole s, whole again) {
    BODY EACH_ROW_BY_LANES(i, b->own) {
        whole n = *b->done + later;
        vec OF_LANES(
            force, elastic(b, i, lane, b->x) +
                       loads(b, i, lane, entry_of(b, n, s), b->x, b->ahead).force
        )
        FIRST_LANE {
            if (HAS_TOUCHES) force = force + contact_forces(b, i, n + again, load(b->x, i));
            vec a = b->inverse[i] * force + make(b->gx, b->gy, b->gz);
            a = a - b->alpha * load(b->ahead, i);
            store(b->a, i, a);
            if (!again) {
                store(b->v, i, load(b->v, i) + (b->kicks[s + 1] * b->h) * a);
                if (b->local && s + 1 == b->stages) finish(b, i, n);
            }
        }
    }
}

// ------------------------------------------------------------------ in and out

KERNEL gather(const double *x, const double *v, const double *a) {
    BODY EACH_ROW(i, b->rows) {
        if (i == 0) *b->done = 0;
        whole j = b->place[i];
        bool nothing = i + 1 == b->rows;
        for (int k = 0; k < 4; ++k) {
            bool some = k < 3 && !nothing;
            b->x[4 * i + k] = some ? x[3 * j + k] : 0.0;
            b->v[4 * i + k] = some ? v[3 * j + k] : 0.0;
            b->a[4 * i + k] = some && i < b->own ? a[3 * j + k] : 0.0;
            b->ahead[4 * i + k] = b->v[4 * i + k];
            b->x0[4 * i + k] = b->x[4 * i + k];
            b->v0[4 * i + k] = b->v[4 * i + k];
            b->books[4 * i + k] = 0.0;
        }
    }
}

KERNEL scatter(double *x, double *v, double *a, double *ahead) {
    BODY EACH_ROW(i, b->own) {
        whole j = b->place[i];
        for (int k = 0; k < 3; ++k) {
            x[3 * j + k] = b->x[4 * i + k];
            v[3 * j + k] = b->v[4 * i + k];
            a[3 * j + k] = b->a[4 * i + k];
            ahead[3 * j + k] = b->ahead[4 * i + k];
        }
    }
}

// the ledgers of every SUMS-th row
KERNEL total(double *sums) {
    BODY EACH_ROW(i, SUMS) {
        double own[4] = {0.0, 0.0, 0.0, 0.0};
        for (whole j = i; j < b->rows; j += SUMS) {
            const double *row = b->books + 4 * j;
            own[ADDED] += row[ADDED];
            own[DISSIPATED] += row[DISSIPATED];
            own[DEEPEST] = more(own[DEEPEST], row[DEEPEST]);
            own[TOUCHING] += row[TOUCHING];
        }
        for (int k = 0; k < 4; ++k) sums[4 * i + k] = own[k];
    }
}

KERNEL tick(whole steps) {
    BODY EACH_ROW(i, 1) { *b->done += steps; }
}
