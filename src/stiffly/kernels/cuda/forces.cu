// What pulls at a row of a body: springs, tets, shapes that it touches, loads; and the power of loads.
// Each lane of a row has a share of the sum.

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

// ------------------------------------------------------------------ elastic forces

DEVICE real spring_scale(real square, real stiffness, real rest, bool cubic) {
    square = more(square, tiny(square));
    real inverse = inverse_root(square), scale = stiffness - stiffness * rest * inverse;
    if (cubic) {
        real strain = square * inverse / rest - real(1.0);
        scale *= real(1.0) + strain * strain;
    }
    return scale;
}
DEVICE real squared(vec d) { return dot(rounded(d), rounded(d)); }

DEVICE double spring_energy(double L, double k, double rest, bool cubic) {
    double u = L - rest, energy = 0.5 * k * u * u;
    return cubic ? energy * (1.0 + 0.5 * (u / rest) * (u / rest)) : energy;
}

// the far end of entry p, and its stiffness
struct Far {
    unsigned row;
    real stiffness;
};
DEVICE Far far_end(const Springs *s, whole p) {
    const unsigned named = once(s->rows.other + p);
    Far r = {named, real(0.0)};
    if (HAS_PALETTE) {
        r.row = named & 0xffffff;
        r.stiffness = s->stiffness[named >> 24];
    } else {
        r.stiffness = once(s->stiffness + p);
    }
    return r;
}

// a spring strained beyond its limit: both ends see it, and each books half of what is lost; adds
// the change of the force, and the energy lost
DEVICE void yield_one(
    const Springs *s, bool cubic, whole p, double k, vec d, double L, Load *lost
) {
    double rest = s->rest[p], strain = L / rest - 1.0;
    if (!(fabs(strain) > ROUNDING * s->limit[p]) || L == 0.0) return;
    double next = L / (1.0 + copysign(s->limit[p], strain));
    s->rest[p] = next;
    double change = spring_scale(L * L, k, next, cubic) - spring_scale(L * L, k, rest, cubic);
    lost->force = lost->force - change * d;
    double energy = spring_energy(L, k, rest, cubic) - spring_energy(L, k, next, cubic);
    lost->taken += 0.5 * s->share[p] * energy;
}

// lost: of springs that yield once the force is known; null where they do not now
DEVICE vec spring_forces(
    const Springs *s, bool cubic, whole i, int lane, vec here, const double *x, Load *lost
) {
    vec force = make(0.0, 0.0, 0.0);
    const bool some = HAS_YIELDS && lost && s->limit;
#pragma unroll 2
    for (ENTRIES(p, s->rows)) {
        const Far far = far_end(s, p);
        vec d = here - load(x, far.row);
        real square = squared(d), rest = once(s->rest + p);
        force = force - spring_scale(square, far.stiffness, rest, cubic) * d;
        if (some) {
            real limit = s->common < 0.0 ? s->limit[p] : s->common;
            real reach = (real(NEARLY) * limit - real(ROUGH)) * rest;
            real L = square * inverse_root(more(square, tiny(square)));
            if (fabs(L - rest) > reach)
                yield_one(s, cubic, p, far.stiffness, d, sqrt(dot(d, d)), lost);
        }
    }
    return force;
}

// springs from the corners of tets to the opposite faces: see kernels/cpu/face_springs.py
template <class Places>
DEVICE vec face_forces(const Body *b, whole i, int lane, const Places &x) {
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
            real rest = b->face_rest[4 * t + k];
            d = spring_scale(squared(d), b->face_stiffness[t], rest, false) * d;
            mean = mean + (1.0 / 3.0) * d;
            if (k == (int)mine) own = d;
        }
        force = force + (mean - (4.0 / 3.0) * own);
    }
    return force;
}

// each row round a tet computes it
template <class Places>
DEVICE vec tet_forces(const Body *b, whole i, int lane, const Places &x) {
    vec force = make(0.0, 0.0, 0.0);
    for (ENTRIES(p, b->tets)) {
        unsigned t = b->tets.other[p] / 4, mine = b->tets.other[p] % 4;
        if (t >= b->any_tet) continue;
        const real *shape = b->tet_shape + 9 * t, *moduli = b->tet_moduli + 2 * t;
        const auto F = deformation<real>(x, b->tet_corners + 4 * t, shape);
        const auto P = stress(b->tet_material[t], moduli[0], moduli[1], F);
        force = force + widened(corner_force(P, shape, mine));
    }
    return force;
}

// places as they differ from those at rest: as `load` of an array of them
template <class Places> struct Moved {
    const Places &x;
    const double *rest;
};
template <class Places> DEVICE vec load(const Moved<Places> &u, whole i) {
    return load(u.x, i) - load(u.rest, i);
}

// pairs with blocks that never change, of displacements or velocities u
template <class Values>
DEVICE vec pair_forces(
    const Pairs &s, whole i, int lane, const Values &u, double *stretching = nullptr
) {
    vec force = make(0.0, 0.0, 0.0), here = load(u, i);
    for (ENTRIES(p, s.rows)) {
        const vec w = load(u, s.rows.other[p]) - here;
        const Vec<real> d = rounded(w);
        real pull[3];
        for (int k = 0; k < 3; ++k) {
            const real *row = s.blocks + 3 * k * s.entries + p;
            pull[k] = row[0] * d.x + row[s.entries] * d.y + row[2 * s.entries] * d.z;
        }
        const vec own = make(pull[0], pull[1], pull[2]);
        force = force + own;
        if (stretching) *stretching += dot(own, w);
    }
    return force;
}
template <class Places>
DEVICE vec steady_forces(
    const Body *b, whole i, int lane, const Places &x, double *stretching = nullptr
) {
    const Moved<Places> u = {x, b->rest};
    return pair_forces(b->steady, i, lane, u, stretching);
}

// a lane's share of them
DEVICE vec elastic(const Body *b, whole i, int lane, const double *x, Load *lost = nullptr) {
    vec here = load(x, i);
    vec force = make(0.0, 0.0, 0.0);
    if (HAS_LINEAR) force = force + spring_forces(&b->linear, false, i, lane, here, x, lost);
    if (HAS_CUBIC) force = force + spring_forces(&b->cubic, true, i, lane, here, x, lost);
    if (HAS_FACES) force = force + face_forces(b, i, lane, x);
    if (HAS_TETS) force = force + tet_forces(b, i, lane, x);
    if (HAS_STEADY) force = force + steady_forces(b, i, lane, x);
    if (HAS_ATOMS) force = force + with_others<false>(&b->atoms, i, b->rows - 1, lane, x);
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
    if (!HAS_HALVES || kind == SPHERE) return q[4] * (sqrt(dot(y, y)) - q[3]);
    Half r = half_ball(q, p);
    if (r.part == 0) return r.length - q[3];
    if (r.part == 1) return -r.z;
    return sqrt((r.rho - q[3]) * (r.rho - q[3]) + r.z * r.z);
}

DEVICE vec normal(whole kind, const double *q, vec p) {
    if (kind == PLANE) return make(q[0], q[1], q[2]);
    vec y = p - make(q[0], q[1], q[2]);
    if (!HAS_HALVES || kind == SPHERE) {
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

// how shape c, at its place of that number, meets row i at p
DEVICE Met meet(const Body *b, whole i, whole c, whole place, vec p) {
    const double *q = surface(b, c, place);
    const double margin = b->margin[c];
    const whole kind = b->kind[c];
    if (HAS_MESHES && kind == MESH) return mesh_met(b->solids + c, i, q, p, margin);
    Met r = {ENDLESS, make(0.0, 0.0, 0.0)};
    if (far(kind, q, p, margin)) return r;
    r.d = distance(kind, q, p);
    if (r.d < margin) r.n = normal(kind, q, p);
    return r;
}

DEVICE vec contact_forces(const Body *b, whole i, whole place, vec p) {
    vec force = make(0.0, 0.0, 0.0);
    for (whole c = 0; c < b->touches; ++c) {
        double k = b->touch[c * b->rows + i];
        if (k == 0.0) continue;
        const Met met = meet(b, i, c, place, p);
        double s = met.d - b->margin[c];
        if (s < 0.0) force = force - (k * s) * met.n;
    }
    return force;
}

// ------------------------------------------------------------------ ties

// the point of a tie, at its place numbered `place`
DEVICE vec tied_to(const Body *b, unsigned p, whole place) {
    whole m = b->motion[p];
    if (m < 0 || place == 0) return load(b->here, p);
    const double *q = b->leads + 12 * (m * b->places + place);
    vec h = load(b->home_of_tie, p);
    return make(
        dot(make(q[0], q[1], q[2]), h) + q[9], dot(make(q[3], q[4], q[5]), h) + q[10],
        dot(make(q[6], q[7], q[8]), h) + q[11]
    );
}

DEVICE vec tie_forces(const Body *b, whole i, whole place, vec at) {
    vec force = make(0.0, 0.0, 0.0);
    for (unsigned p = b->ties[i]; p < b->ties[i + 1]; ++p) {
        force = force - b->tied[p] * (at - tied_to(b, p, place));
    }
    return force;
}

DEVICE double tie_stored(const Body *b, whole i, whole place, vec at) {
    double sum = 0.0;
    for (unsigned p = b->ties[i]; p < b->ties[i + 1]; ++p) {
        vec d = at - tied_to(b, p, place);
        sum += 0.5 * b->tied[p] * dot(d, d);
    }
    return sum;
}

// whether a point goes on between two steps
DEVICE bool drawn(const Body *b, whole i) {
    for (unsigned p = b->ties[i]; p < b->ties[i + 1]; ++p) {
        if (b->motion[p] >= 0) return true;
    }
    return false;
}

// ------------------------------------------------------------------ what shapes hold

// from where a row is held, zero where it is free
DEVICE vec held_apart(const Body *b, whole i, vec at) {
    const double *told = b->held.told + TOLD * i;
    const bool some = b->held.stiffness > 0.0 && told[HOLDER] >= 0.0;
    return some ? at - make(told[0], told[1], told[2]) : make(0.0, 0.0, 0.0);
}

DEVICE double held_stored(const Body *b, whole i, vec at) {
    vec d = held_apart(b, i, at);
    return 0.5 * b->held.stiffness * dot(d, d);
}

// ------------------------------------------------------------------ loads

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

// by a matrix that never changes, whose rows sum to zero; of tets its blocks are not symmetric, so
// that pairs have no power of their own
DEVICE void damp_by_pairs(const Body *b, whole i, int lane, const double *v, Load *r) {
    const vec pull = pair_forces(b->viscous, i, lane, v);
    r->force = r->force + pull;
    r->taken -= dot(pull, load(v, i));
}

// of a row alone: what air and forces of time do to it at a speed
DEVICE Load row_loads(const Body *b, whole i, whole entry, vec speed) {
    Load r = {make(0.0, 0.0, 0.0), 0.0, 0.0};
    for (whole d = 0; HAS_LOADS && d < b->drags; ++d) {
        vec w = timed(b->winds, b, b->drag_wind[d], entry), u = w - speed;
        double scale = b->drag[d * b->rows + i];
        if (b->drag_power[d] == 2) scale *= sqrt(dot(u, u));
        vec push = scale * u;
        r.force = r.force + push;
        r.added += dot(push, w);
        r.taken += dot(push, u);
    }
    for (whole d = 0; HAS_LOADS && d < b->forces; ++d) {
        vec push = b->weights[d * b->rows + i] * timed(b->given, b, d, entry);
        r.force = r.force + push;
        r.added += dot(push, speed);
    }
    return r;
}

// a lane's share of them
DEVICE Load loads(
    const Body *b, whole i, int lane, whole entry, const double *x, const double *v
) {
    Load r = {make(0.0, 0.0, 0.0), 0.0, 0.0};
    if (lane == 0 && i < b->led) r = row_loads(b, i, entry, load(v, i));
    if (HAS_TRIANGLES) wind(b, i, lane, entry, x, v, &r);
    if (HAS_DASHPOTS) damp(b, i, lane, x, v, &r);
    if (HAS_VISCOUS) damp_by_pairs(b, i, lane, v, &r);
    return r;
}

// damping of a row [W]
DEVICE double damped(const Body *b, whole i, vec speed) {
    return alpha_of(b, i) * b->mass[i] * dot(speed, speed);
}

// what loads, damping and supports add and take [W] at this row: a lane's share, as (added, taken, 0)
DEVICE vec power_of(
    const Body *b, whole i, int lane, whole entry, const double *x, const double *v
) {
    Load r = loads(b, i, lane, entry, x, v);
    vec speed = load(v, i);
    if (lane == 0 && i < b->own) r.taken += damped(b, i, speed);
    if (i >= b->own && i < b->led) r.added -= dot(r.force + elastic(b, i, lane, x), speed);
    return make(r.added, r.taken, 0.0);
}

// the same of a row that moves and whose loads know of no other's velocity
DEVICE vec row_power(const Body *b, whole i, whole entry, vec speed) {
    Load r = row_loads(b, i, entry, speed);
    return make(r.added, r.taken + damped(b, i, speed), 0.0);
}
