// Explicit steps of a body of particles on a card: what kernels/cpu/stretch.py does, LANES threads a
// row.

// ------------------------------------------------------------------ steps

// where a support leads a particle
struct Led {
    vec x, v;
};
DEVICE Led led(const Body *b, whole i, whole entry) {
    const double *m = b->supports + 24 * (b->support[i] * b->entries + entry);
    const double *home = b->home + 3 * i;
    double at[6];
    for (int k = 0; k < 6; ++k) {
        const double *part = m + 12 * (k / 3), *row = part + 3 * (k % 3);
        at[k] = part[9 + k % 3] + row[0] * home[0] + row[1] * home[1] + row[2] * home[2];
    }
    Led r = {make(at[0], at[1], at[2]), make(at[3], at[4], at[5])};
    return r;
}
DEVICE void lead(const Body *b, whole i, whole entry, double *x, double *v) {
    const Led at = led(b, i, entry);
    store(x, i, at.x);
    store(v, i, at.v);
}

// What a row has: kept in registers where one thread takes it through many steps.
struct Row {
    vec x, v, a, ahead, x0, v0;
    double power[2], books[4];
};

// v += k_0 h a, x += d_s h v, and the velocity that the next kick will lead to
DEVICE void drift_row(const Body *b, whole s, Row *r) {
    if (s == 0) r->v = r->v + b->kick[0] * r->a;
    r->x = r->x + b->drift[s] * r->v;
    r->ahead = r->v + b->kick[s + 1] * r->a;
}

KERNEL drift(whole later, whole s) {
    BODY EACH_ROW(i, b->led) {
        whole entry = entry_of(b, *b->done + later, s);
        if (s == 0 && b->powers) {
            store(b->x0, i, load(b->x, i));
            store(b->v0, i, load(b->v, i));
        }
        if (i < b->own) {
            Row r;
            r.x = load(b->x, i);
            r.v = load(b->v, i);
            r.a = load(b->a, i);
            drift_row(b, s, &r);
            store(b->v, i, r.v);
            store(b->x, i, r.x);
            store(b->ahead, i, r.ahead);
        } else {
            lead(b, i, entry, b->x, b->v);
            store(b->ahead, i, load(b->v, i));
        }
        if (HAS_ATOMS) went(&b->atoms, i, load(b->x, i));
    }
}

// Nystrom methods: x_s = x + c_s h v + h^2 sum Abar_sj a_j, ahead = v + h sum A_sj a_j; s > 0
KERNEL stage(whole later, whole s) {
    BODY EACH_ROW(i, b->led) {
        bool last = s + 1 == b->stages;
        if (i < b->own) {
            if (s == 1) {  // the last step has ended here
                store(b->x0, i, load(b->x, i));
                store(b->staged, i, load(b->a, i));
            }
            vec way = make(0.0, 0.0, 0.0), faster = way, v = load(b->v, i);
            for (whole j = 0; j < s; ++j) {
                vec a = load(b->staged + 4 * b->rows * j, i);
                way = way + b->Abar[s * b->stages + j] * a;
                if (b->powers || last) faster = faster + b->A[s * b->stages + j] * a;
            }
            store(b->x, i, load(b->x0, i) + (b->c[s] * b->h) * v + (b->h * b->h) * way);
            store(b->ahead, i, v + b->h * faster);
            if (last) store(b->v0, i, v);
        } else {
            lead(b, i, entry_of(b, *b->done + later, s), b->x, b->v);
            store(b->ahead, i, load(b->v, i));
        }
        if (HAS_ATOMS) went(&b->atoms, i, load(b->x, i));
    }
}

// the power at the end of a step, with which the next one begins; later = -1: at the start of all
KERNEL power_now(whole later, whole from) {
    BODY EACH_ROW_BY_LANES(k, b->rows - 1 - from) {
        whole i = from + k, entry = end_of(b, *b->done + later);
        vec OF_LANES(now, power_of(b, i, lane, entry, b->x, b->v))
        FIRST_LANE {
            b->power[2 * i] = now.x;
            b->power[2 * i + 1] = now.y;
        }
    }
}

// the middle of the cubic through both ends of a step
DEVICE vec middle_place(const Body *b, const Row *r) {
    return 0.5 * (r->x0 + r->x) + (0.125 * b->h) * (r->v0 - r->v);
}
DEVICE vec middle_speed(const Body *b, const Row *r) {
    return (1.5 / b->h) * (r->x - r->x0) - 0.25 * (r->v0 + r->v);
}

// x0, v0 go there
KERNEL middle(whole later, whole from) {
    BODY EACH_ROW(k, b->led - from) {
        whole i = from + k;
        if (i < b->own) {
            Row r;
            r.x = load(b->x, i);
            r.v = load(b->v, i);
            r.x0 = load(b->x0, i);
            r.v0 = load(b->v0, i);
            store(b->x0, i, middle_place(b, &r));
            store(b->v0, i, middle_speed(b, &r));
        } else {
            lead(b, i, middle_of(b, *b->done + later), b->x0, b->v0);
        }
    }
}

// the work of a step by Simpson's rule; power: at its start, then at its end
DEVICE void add_work(const Body *b, double *power, double *books, vec half, vec now) {
    books[ADDED] += b->h / 6.0 * (power[0] + 4.0 * half.x + now.x);
    books[DISSIPATED] += b->h / 6.0 * (power[1] + 4.0 * half.y + now.y);
    power[0] = now.x;
    power[1] = now.y;
}

KERNEL book(whole later, whole from) {
    BODY EACH_ROW_BY_LANES(k, b->rows - 1 - from) {
        whole i = from + k, n = *b->done + later, last = end_of(b, n);
        vec OF_LANES(half, power_of(b, i, lane, middle_of(b, n), b->x0, b->v0))
        vec OF_LANES(now, power_of(b, i, lane, last, b->x, b->v))
        FIRST_LANE { add_work(b, b->power + 2 * i, b->books + 4 * i, half, now); }
    }
}

// ------------------------------------------------------------------ between two steps

// of a shape's material at p
DEVICE vec motion_of(const double *q, vec p) {
    return make(q[10], q[11], q[12]) + cross(make(q[13], q[14], q[15]), p - make(q[7], q[8], q[9]));
}

// takes at most `most` [m/s] of the sliding along a shape, and books it
DEVICE void slow(const Body *b, whole i, const double *q, vec n, double most, Row *r) {
    vec motion = motion_of(q, r->x);
    vec old = r->v, relative = old - motion;
    vec along = relative - dot(relative, n) * n;
    double speed = sqrt(dot(along, along)), mass = b->mass[i];
    if (speed == 0.0) return;
    vec change = -fewer(1.0, most / speed) * along;
    r->v = old + change;
    r->ahead = r->ahead + change;
    r->a = r->a - alpha_of(b, i) * change;
    double work = mass * dot(change, motion);
    r->books[ADDED] += work;
    r->books[DISSIPATED] += work - 0.5 * mass * dot(change, old + old + change);
}

// whether a shape is felt at the end of a step, where it stood or where it goes
DEVICE bool touching(const Body *b, whole i, whole n, vec p) {
    for (whole c = 0; c < b->touches; ++c) {
        const double margin = b->margin[c];
        if (b->touch[c * b->rows + i] == 0.0) continue;
        if (meet(b, i, c, n, p).d < margin) return true;
        if (b->moving[c] && meet(b, i, c, n + 1, p).d < margin) return true;
    }
    return false;
}

// friction against shapes as they stood during the step, then they go on to their next places
DEVICE void touch(const Body *b, whole i, whole n, Row *r) {
    r->books[TOUCHING] = 0.0;
    for (whole c = 0; c < b->touches; ++c) {
        double k = b->touch[c * b->rows + i], margin = b->margin[c], friction = b->friction[c];
        bool moving = b->moving[c];
        if (k == 0.0) continue;
        const Met met = meet(b, i, c, n, r->x), then = moving ? meet(b, i, c, n + 1, r->x) : met;
        double s0 = fewer(0.0, met.d - margin), s1 = fewer(0.0, then.d - margin);
        r->books[DEEPEST] = more(r->books[DEEPEST], -met.d);
        if (s0 == 0.0 && s1 == 0.0) continue;
        if (s0 < 0.0) {
            r->books[TOUCHING] += 1.0;
            const double *q = surface(b, c, n);
            if (friction > 0.0) slow(b, i, q, met.n, -friction * b->h * k * s0 * b->inverse[i], r);
        }
        if (moving) {
            r->books[ADDED] += 0.5 * k * (s1 * s1 - s0 * s0);
            vec push = s0 * met.n - s1 * then.n;
            r->a = r->a + (k * b->inverse[i]) * push;
        }
    }
}

// points go on from where they stood during step n
DEVICE void draw(const Body *b, whole i, whole n, Row *r) {
    r->books[ADDED] += tie_stored(b, i, n + 1, r->x) - tie_stored(b, i, n, r->x);
    vec push = tie_forces(b, i, n + 1, r->x) - tie_forces(b, i, n, r->x);
    r->a = r->a + b->inverse[i] * push;
}

// springs of rows that do not move themselves
DEVICE Load yielded(const Body *b, whole i, int lane, const double *x) {
    Load lost = {make(0.0, 0.0, 0.0), 0.0, 0.0};
    vec here = load(x, i);
    if (HAS_LINEAR) spring_forces(&b->linear, false, i, lane, here, x, &lost);
    if (HAS_CUBIC) spring_forces(&b->cubic, true, i, lane, here, x, &lost);
    return lost;
}

// a row as it lies in memory; its ledger, and where its step began, where these are used
DEVICE Row kept(const Body *b, whole i) {
    Row r;
    r.x = load(b->x, i);
    r.v = load(b->v, i);
    r.a = load(b->a, i);
    r.ahead = load(b->ahead, i);
    r.x0 = load(b->x0, i);
    r.v0 = load(b->v0, i);
    for (int k = 0; k < 2; ++k) r.power[k] = b->power[2 * i + k];
    for (int k = 0; k < 4; ++k) r.books[k] = b->books[4 * i + k];
    return r;
}

// what `finish`, `touch` and `draw` may change
DEVICE void keep(const Body *b, whole i, const Row *r) {
    store(b->v, i, r->v);
    store(b->a, i, r->a);
    store(b->ahead, i, r->ahead);
    store(b->x0, i, r->x0);
    for (int k = 0; k < 2; ++k) b->power[2 * i + k] = r->power[k];
    for (int k = 0; k < 4; ++k) b->books[4 * i + k] = r->books[k];
}

// where rows know of each other's velocities: what `finish` does elsewhere
KERNEL settle(whole later) {
    BODY EACH_ROW(i, b->own) {
        b->books[4 * i + TOUCHING] = 0.0;
        if (HAS_BETWEEN && i == 0) b->marks[NOW] = b->marks[THIS_STEP] = 0;
        if (HAS_TOUCHES || HAS_TIES) {
            whole n = *b->done + later;
            Row r = kept(b, i);
            if (HAS_TOUCHES) touch(b, i, n, &r);
            if (HAS_TIES && drawn(b, i)) draw(b, i, n, &r);
            keep(b, i, &r);
        }
#if HAS_CROWD
        b->books[4 * i + TOUCHING] += crowd_told(b, i).y;
#endif
    }
}

KERNEL yield_held(whole flip) {
    BODY EACH_ROW_BY_LANES(k, b->rows - 1 - b->own) {
        whole i = b->own + k;
        Load OF_LANES(lost, yielded(b, i, lane, flip ? b->y : b->x))
        FIRST_LANE { b->books[4 * i + DISSIPATED] += lost.taken; }
    }
}

// ------------------------------------------------------------------ forces

// where atoms have gone too far since they were sorted; flip: positions lie in y
BLOCK_KERNEL sort_cells(whole flip) {
    BODY if (HAS_ATOMS) sort_atoms(&b->atoms, b->rows - 1, flip ? b->y : b->x);
}

// f (n, 3): what the host has computed of forces on particles that move
KERNEL push(const double *f) {
    BODY EACH_ROW(i, b->own) {
        const double *own = f + 3 * whole(b->place[i]);
        store(b->pushed, i, make(own[0], own[1], own[2]));
    }
}

// what a row can do alone once it has its new velocity: its work, and what happens between steps;
// x0 is then the middle of the step
DEVICE void finish(const Body *b, whole i, whole n, Row *r) {
    whole last = end_of(b, n);
    if (HAS_POWERS && b->powers) {
        vec half = row_power(b, i, middle_of(b, n), middle_speed(b, r));
        add_work(b, r->power, r->books, half, row_power(b, i, last, r->v));
        r->x0 = middle_place(b, r);
    }
    if (HAS_TOUCHES && b->touches) {
        touch(b, i, n, r);
        if (HAS_POWERS && b->powers) {
            vec now = row_power(b, i, last, r->v);
            r->power[0] = now.x;
            r->power[1] = now.y;
        }
    }
    if (HAS_TIES && drawn(b, i)) draw(b, i, n, r);
}

// v += k_s h a, or what a Nystrom method keeps of a stage
DEVICE void end_stage(const Body *b, whole i, whole s, vec a) {
    if (!b->staged) {
        store(b->v, i, load(b->v, i) + b->kick[s + 1] * a);
    } else {
        store(b->staged + 4 * b->rows * s, i, a);
        if (s + 1 == b->stages) store(b->v, i, load(b->ahead, i));
    }
}

// a = force / mass + field - alpha v, with v as predicted
DEVICE vec pulled(const Body *b, whole i, whole place, vec force, vec at, vec ahead) {
    if (HAS_TOUCHES) force = force + contact_forces(b, i, place, at);
    if (HAS_TIES) force = force + tie_forces(b, i, place, at);
#if HAS_CROWD
    force = force + crowd_force(b, i);
#endif
    if (HAS_BETWEEN) force = force - b->held.stiffness * held_apart(b, i, at);
    if (HAS_GUESTS) force = force + load(b->pushed, i);
    return b->inverse[i] * force + field_of(b, i) - alpha_of(b, i) * ahead;
}

// what is left to do when a step has its new velocity, with what it needs of the row's memory
DEVICE void finish_there(const Body *b, whole i, whole n, Row *r, const Load *lost) {
    const bool ledger = HAS_POWERS && b->powers;
    double *books = b->books + 4 * i, *power = b->power + 2 * i;
    const bool touched = HAS_TOUCHES && b->touches && touching(b, i, n, r->x);
    if (HAS_TOUCHES && !touched && books[TOUCHING] != 0.0) books[TOUCHING] = 0.0;
    if (ledger || touched || (HAS_TIES && drawn(b, i))) {
        for (int k = 0; k < 4; ++k) r->books[k] = books[k];
        if (ledger) {
            r->x0 = load(b->x0, i);
            r->v0 = load(b->v0, i);
            for (int k = 0; k < 2; ++k) r->power[k] = power[k];
        }
        finish(b, i, n, r);
        for (int k = 0; k < 4; ++k) books[k] = r->books[k];
        for (int k = 0; k < 2 && ledger; ++k) power[k] = r->power[k];
    }
    if (HAS_YIELDS) {
        r->a = r->a + b->inverse[i] * lost->force;
        if (lost->taken != 0.0) books[DISSIPATED] += lost->taken;
    }
}

// ends a stage, unless it is done `again`, by 2 where something has been put elsewhere; flip:
// positions lie in y
KERNEL accelerate(whole later, whole s, whole again, whole flip) {
    BODY if (HAS_BETWEEN && again == 2 && !b->marks[THIS_STEP]) return;
    EACH_ROW_BY_LANES(i, b->own) {
        whole n = *b->done + later;
        const double *x = flip ? b->y : b->x;
        const bool last = !again && s + 1 == b->stages;
        Load gone = {make(0.0, 0.0, 0.0), 0.0, 0.0};  // springs yield at the end of a step
        vec OF_LANES(
            force, elastic(b, i, lane, x, HAS_YIELDS && last ? &gone : nullptr) +
                       loads(b, i, lane, entry_of(b, n, s), x, b->ahead).force
        )
        if (HAS_YIELDS) { ALL_LANES(gone) }
        FIRST_LANE {
            Row r;
            r.x = load(x, i);
            r.ahead = load(b->ahead, i);
            r.a = pulled(b, i, again ? n + 1 : n, force, r.x, r.ahead);
            if (!again) end_stage(b, i, s, r.a);
#if HAS_CROWD
            if (!again) stay_near(b, i, n, r.x);
#endif
            if (last) {
                r.v = load(b->v, i);
                if (b->local) {
                    finish_there(b, i, n, &r, &gone);
                    if (HAS_POWERS) store(b->x0, i, r.x0);
                } else if (HAS_YIELDS) {
                    r.a = r.a + b->inverse[i] * gone.force;
                    b->books[4 * i + DISSIPATED] += gone.taken;
                }
                store(b->v, i, r.v);
                store(b->ahead, i, r.ahead);
            }
            store(b->a, i, r.a);
            if (flip) store(b->x, i, r.x);
        }
    }
}

// Where rows know nothing of each other but where they are, and no support leads any: a stage and
// the drift of the next one in one pass, which goes to the other of two arrays of positions.
LEAN_KERNEL leap(whole later, whole s, whole flip) {
    BODY EACH_ROW_BY_LANES(i, b->own) {
        whole n = *b->done + later, next = s + 1 == b->stages ? 0 : s + 1;
        const double *x = flip ? b->y : b->x;
        const bool ledger = HAS_POWERS && b->powers;
        Load gone = {make(0.0, 0.0, 0.0), 0.0, 0.0};
        vec OF_LANES(force, elastic(b, i, lane, x, HAS_YIELDS && !next ? &gone : nullptr))
        if (HAS_YIELDS) { ALL_LANES(gone) }
        FIRST_LANE {
            Row r;
            r.x = load(x, i);
            r.v = load(b->v, i);
            r.ahead = ledger ? load(b->ahead, i) : r.v;
            if (ledger) force = force + row_loads(b, i, entry_of(b, n, s), r.ahead).force;
            r.a = pulled(b, i, n, force, r.x, r.ahead);
            r.v = r.v + b->kick[s + 1] * r.a;
            if (!next) {
                finish_there(b, i, n, &r, &gone);
                if (ledger) {
                    store(b->x0, i, r.x);
                    store(b->v0, i, r.v);
                }
            }
            drift_row(b, next, &r);
            store(flip ? b->x : b->y, i, r.x);
            if (HAS_ATOMS) went(&b->atoms, i, r.x);
            store(b->v, i, r.v);
            if (ledger) store(b->ahead, i, r.ahead);
        }
    }
}

// ------------------------------------------------------------------ in and out

// x, v of all particles, a of those that move
KERNEL gather(const double *x, const double *v, const double *a) {
    BODY EACH_ROW(i, b->rows) {
        whole j = b->place[i];
        bool nothing = i + 1 == b->rows;
        for (int k = 0; k < 4; ++k) {
            bool some = k < 3 && !nothing;
            b->x[4 * i + k] = some ? x[3 * j + k] : 0.0;
            b->v[4 * i + k] = some ? v[3 * j + k] : 0.0;
            b->a[4 * i + k] = some && i < b->own ? a[3 * j + k] : 0.0;
        }
    }
}

// before the first of many steps
KERNEL begin() {
    BODY EACH_ROW(i, b->rows) {
        if (i == 0) *b->done = 0;
#if HAS_CROWD
        if (i < 3) b->crowd->flags[i] = 0;
#endif
        if (HAS_BETWEEN && i == 0) b->settled[0] = b->settled[1] = 0.0;
        if (HAS_ATOMS && i == 0) *b->atoms.stale = 1;  // whoever goes on from here finds the same bits
        if (i >= b->own && i < b->led) lead(b, i, 0, b->x, b->v);
        store(b->ahead, i, load(b->v, i));
        store(b->x0, i, load(b->x, i));
        store(b->v0, i, load(b->v, i));
        store(b->y, i, load(b->x, i));
        for (int k = 0; k < 4; ++k) b->books[4 * i + k] = 0.0;
        for (whole c = 0; HAS_MESHES && c < b->touches; ++c) {
            if (b->kind[c] == MESH) forget(b->solids + c, i);
        }
    }
}

// before some steps: what rows near meshes remember, wherever these steps may lead them
KERNEL look(whole steps) {
    BODY EACH_ROW(i, b->own) {
        const vec p = load(b->x, i), v = load(b->v, i);
        for (whole c = 0; c < b->touches; ++c) {
            if (b->kind[c] != MESH || b->touch[c * b->rows + i] == 0.0) continue;
            const double *q = surface(b, c, *b->done);
            const vec w = v - motion_of(q, p);
            const double margin = b->margin[c], way = 1.5 * b->h * steps * sqrt(dot(w, w));
            remember(b->solids + c, i, q, p, margin, way + 0.1 * margin + NEAR);
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

// positions, velocities or what shapes push with, of particle seen[i]
template <typename real> DEVICE void shown(whole which, real *out, const unsigned *seen) {
    BODY EACH_ROW(i, b->led) {
        whole j = seen[i];
        vec x = load(b->x, i), v = load(b->v, i);
        if (which == 2) {
            vec f = make(0.0, 0.0, 0.0);
            if (HAS_TOUCHES && i < b->own) f = contact_forces(b, i, *b->done, x);
#if HAS_CROWD
            if (i < b->own) f = f + crowd_force(b, i);
#endif
            if (HAS_BETWEEN && i < b->own) f = f - b->held.stiffness * held_apart(b, i, x);
            out[j] = sqrt(dot(f, f));
        } else {
            const vec a = which == 0 ? x : v;
            out[3 * j] = a.x;
            out[3 * j + 1] = a.y;
            out[3 * j + 2] = a.z;
        }
    }
}
KERNEL show(whole which, double *out, const unsigned *seen) { shown(which, out, seen); }
KERNEL show_single(whole which, float *out, const unsigned *seen) { shown(which, out, seen); }

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
