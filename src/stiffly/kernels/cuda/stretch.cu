// Explicit steps of a body of particles on a card: what kernels/cpu/stretch.py does, LANES threads a
// row.

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

// x0, v0 go to the middle of the cubic through both ends of the step
DEVICE void to_middle(const Body *b, whole i, whole n) {
    if (i < b->own) {
        vec x0 = load(b->x0, i), v0 = load(b->v0, i), x1 = load(b->x, i), v1 = load(b->v, i);
        store(b->x0, i, 0.5 * (x0 + x1) + (0.125 * b->h) * (v0 - v1));
        store(b->v0, i, (1.5 / b->h) * (x1 - x0) - 0.25 * (v0 + v1));
    } else {
        lead(b, i, middle_of(b, n), b->x0, b->v0);
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
        whole i = from + k, n = *b->done + later, last = end_of(b, n);
        vec OF_LANES(half, power_of(b, i, lane, middle_of(b, n), b->x0, b->v0))
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
    store(b->a, i, load(b->a, i) - alpha_of(b, i) * change);
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
    whole last = end_of(b, n);
    if (HAS_POWERS && b->powers) {
        to_middle(b, i, n);
        vec half = power_of(b, i, 0, middle_of(b, n), b->x0, b->v0);
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

// v += k_s h a, or what a Nystrom method keeps of a stage
DEVICE void end_stage(const Body *b, whole i, whole s, vec a) {
    if (!b->staged) {
        store(b->v, i, load(b->v, i) + (b->kicks[s + 1] * b->h) * a);
    } else {
        store(b->staged + 4 * b->rows * s, i, a);
        if (s + 1 == b->stages) store(b->v, i, load(b->ahead, i));
    }
}

// a = force / mass + field - alpha v, with v as predicted; ends a stage, unless it is done `again`
KERNEL accelerate(whole later, whole s, whole again) {
    BODY EACH_ROW_BY_LANES(i, b->own) {
        whole n = *b->done + later;
        vec OF_LANES(
            force, elastic(b, i, lane, b->x) +
                       loads(b, i, lane, entry_of(b, n, s), b->x, b->ahead).force
        )
        FIRST_LANE {
            if (HAS_TOUCHES) force = force + contact_forces(b, i, n + again, load(b->x, i));
            vec a = b->inverse[i] * force + field_of(b, i);
            a = a - alpha_of(b, i) * load(b->ahead, i);
            store(b->a, i, a);
            if (!again) {
                end_stage(b, i, s, a);
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
