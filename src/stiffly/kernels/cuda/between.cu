// What acts between two steps, after all that a row does alone.

#if HAS_BETWEEN
#define PARTS 128  // sums of a chunk that are added up by halves; as many threads a block
#define MANY 512   // the same where one block sums all rows
#define SUMMED 16  // numbers of each chunk

// a row has another velocity; accelerations have had the one before
DEVICE void hasten(const Body *b, whole i, vec change) {
    store(b->v, i, load(b->v, i) + change);
    store(b->ahead, i, load(b->ahead, i) + change);
    store(b->a, i, load(b->a, i) - alpha_of(b, i) * change);
}

// ------------------------------------------------------------------ damping of all but rigid motion
// A body is one chunk or several.  A chunk sums its rows, in an order that depends on nothing else,
// and every chunk adds up what all of its body have found.

#ifdef SHIM
#define EACH_CHUNK(k) EACH_BLOCK(k, b->chunks)
#else
#define EACH_CHUNK(k) const whole k = blockIdx.x;
#endif

// adds up so many sums of `count` numbers each: the last ones are then room[0 .. count)
#define ADD_UP(room, parts, count)                                                                 \
    WAIT                                                                                           \
    for (int half = (parts) / 2; half; half /= 2) {                                                \
        EACH_OF(p, 0, half * (count)) { room[p] += room[p + half * (count)]; }                     \
        WAIT                                                                                       \
    }

DEVICE void put(double *own, vec a) {
    own[0] += a.x;
    own[1] += a.y;
    own[2] += a.z;
}
DEVICE vec taken(const double *own) { return make(own[0], own[1], own[2]); }

// numbers first .. first + count of the sums of all chunks of this body, to room
#define OF_THE_BODY(room, body, from, count)                                                       \
    EACH_OF(c, 0, count) {                                                                         \
        room[c] = 0.0;                                                                             \
        for (whole j = b->chunks_of[body]; j < b->chunks_of[(body) + 1]; ++j)                      \
            room[c] += b->chunk_sums[SUMMED * j + (from) + c];                                     \
    }                                                                                              \
    WAIT

// m x and m v
KERNEL sum_motion() {
    BODY SHARED(room) EACH_CHUNK(k) {
        EACH_OF(p, 0, PARTS) {
            vec place = make(0.0, 0.0, 0.0), speed = place;
            for (whole j = b->chunk[k] + p; j < b->chunk[k + 1]; j += PARTS) {
                const whole i = b->by_body[j];
                place = place + b->mass[i] * load(b->x, i);
                speed = speed + b->mass[i] * load(b->v, i);
            }
            for (int c = 0; c < 6; ++c) room[6 * p + c] = 0.0;
            put(room + 6 * p, place);
            put(room + 6 * p + 3, speed);
        }
        ADD_UP(room, PARTS, 6)
        EACH_OF(c, 0, 6) { b->chunk_sums[SUMMED * k + c] = room[c]; }
    }
}

// where a body's centre is, and how fast it is
struct Centre {
    vec x, v;
};
DEVICE Centre centre_of(const Body *b, whole body, const double *motion) {
    const double each = 1.0 / b->body_mass[body];
    Centre r = {each * taken(motion), each * taken(motion + 3)};
    return r;
}

// angular momentum about the centre, and inertia: xx, yy, zz, xy, xz, yz
KERNEL sum_spin() {
    BODY SHARED(room) EACH_CHUNK(k) {
        const whole body = b->chunk_body[k];
        OF_THE_BODY(room, body, 0, 6)
        const Centre o = centre_of(b, body, room);
        WAIT
        EACH_OF(p, 0, PARTS) {
            vec spin = make(0.0, 0.0, 0.0), own = spin, mixed = spin;
            for (whole j = b->chunk[k] + p; j < b->chunk[k + 1]; j += PARTS) {
                const whole i = b->by_body[j];
                const double m = b->mass[i];
                vec r = load(b->x, i) - o.x;
                spin = spin + m * cross(r, load(b->v, i) - o.v);
                own = own + m * make(r.y * r.y + r.z * r.z, r.x * r.x + r.z * r.z, r.x * r.x + r.y * r.y);
                mixed = mixed - m * make(r.x * r.y, r.x * r.z, r.y * r.z);
            }
            for (int c = 0; c < 9; ++c) room[9 * p + c] = 0.0;
            put(room + 9 * p, spin);
            put(room + 9 * p + 3, own);
            put(room + 9 * p + 6, mixed);
        }
        ADD_UP(room, PARTS, 9)
        EACH_OF(c, 0, 9) { b->chunk_sums[SUMMED * k + 6 + c] = room[c]; }
    }
}

// about which axis, and how fast, a body of that inertia turns; a straight one or a single particle
// has none about its axis, and nothing turns there
DEVICE vec turning(const double *sums) {
    const double *I = sums + 3;
    mat<double> C = {{{I[0], I[3], I[4]}, {I[3], I[1], I[5]}, {I[4], I[5], I[2]}}};
    mat<double> V = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    for (int sweep = 0; sweep < SWEEPS; ++sweep) {
        turn_in(&C, &V, 0, 1);
        turn_in(&C, &V, 0, 2);
        turn_in(&C, &V, 1, 2);
    }
    double most = 0.0;
    for (int k = 0; k < 3; ++k) most = more(most, fabs(C.m[k][k]));
    vec L = taken(sums), turn = make(0.0, 0.0, 0.0);
    for (int k = 0; k < 3; ++k) {
        vec axis = column_of(V, k);
        if (fabs(C.m[k][k]) > 1e-12 * most) turn = turn + (dot(axis, L) / C.m[k][k]) * axis;
    }
    return turn;
}

// takes a share of what is no rigid motion
KERNEL calm() {
    BODY SHARED(room) EACH_CHUNK(k) {
        const whole body = b->chunk_body[k];
        OF_THE_BODY(room, body, 0, 15)
        const Centre o = centre_of(b, body, room);
        EACH_OF(one, 0, 1) {
            vec turn = turning(room + 6);
            room[15] = turn.x;
            room[16] = turn.y;
            room[17] = turn.z;
        }
        WAIT
        const vec turn = taken(room + 15);
        EACH_OF(j, b->chunk[k], b->chunk[k + 1]) {
            const whole i = b->by_body[j];
            vec v = load(b->v, i), r = load(b->x, i) - o.x;
            vec change = -b->share * (v - (o.v + cross(turn, r)));
            hasten(b, i, change);
            b->books[4 * i + DISSIPATED] -= 0.5 * b->mass[i] * dot(change, v + v + change);
        }
    }
}

// ------------------------------------------------------------------ shapes that hold and put back

DEVICE double depth_of(const Sides *s, vec x) {
    double depth = 0.0;
    for (whole c = 0; c < s->count; ++c)
        depth = more(depth, -distance(s->kind[c], s->numbers + 7 * c, x));
    return depth;
}

// which shape catches a free row at x with velocity v, -1 where none does
DEVICE whole caught_by(const Sides *s, vec x, vec v) {
    for (whole c = 0; c < s->count; ++c) {
        const double *q = s->numbers + 7 * c;
        if (!(distance(s->kind[c], q, x) < s->margin)) continue;
        if (dot(v, normal(s->kind[c], q, x)) <= 0.0) return c;
    }
    return -1;
}

// how far a held row is along the normal, and how fast: it leaves where both are outwards
struct Leaving {
    vec n;
    double s, u;
};
DEVICE Leaving leaving(const Sides *s, const double *told, vec x, vec v) {
    const whole c = (whole)told[HOLDER];
    Leaving r;
    r.n = normal(s->kind[c], s->numbers + 7 * c, x);
    r.s = dot(x - make(told[0], told[1], told[2]), r.n);
    r.u = dot(v, r.n);
    return r;
}

// lets a row go: what its tie has stored along the normal comes back as velocity
DEVICE void let_go(const Body *b, whole i, const Leaving *l, vec x) {
    const double k = b->held.stiffness;
    double *books = b->books + 4 * i;
    vec d = held_apart(b, i, x);
    double faster = sqrt(l->u * l->u + k * l->s * l->s * b->inverse[i]);
    hasten(b, i, (faster - l->u) * l->n);
    store(b->a, i, load(b->a, i) + (k * b->inverse[i]) * d);
    books[DISSIPATED] += 0.5 * k * (dot(d, d) - l->s * l->s);
}

DEVICE void mark(const Body *b) { b->marks[NOW] = b->marks[THIS_STEP] = 1; }

// puts a row elsewhere with another velocity
DEVICE void put_at(const Body *b, whole i, vec x, vec v) {
    vec old = load(b->v, i), change = v - old;
    b->lost[i] = -0.5 * b->mass[i] * dot(change, old + old + change);
    store(b->x, i, x);
    hasten(b, i, change);
    mark(b);
}

// catches rows and lets others go, then puts those that are held without ties to where they were
KERNEL hold() {
    BODY EACH_ROW(i, b->rows - 1) {
        const Sides *s = &b->held;
        const bool tied = s->stiffness > 0.0;
        double *told = s->told + TOLD * i;
        vec x = load(b->x, i), v = load(b->v, i);
        if (!tied) {
            b->lost[i] = 0.0;
            store(b->y, i, x);
        }
        if (i < b->own && told[FELT] != 0.0) {
            told[DEPTH] = depth_of(s, x);
            if (told[HOLDER] >= 0.0) {
                const Leaving l = leaving(s, told, x, v);
                if (l.s > 0.0 && l.u >= 0.0) {
                    if (tied) let_go(b, i, &l, x);
                    told[HOLDER] = -1.0;
                }
            } else {
                told[HOLDER] = caught_by(s, x, v);
                if (told[HOLDER] >= 0.0) {
                    told[0] = x.x;
                    told[1] = x.y;
                    told[2] = x.z;
                }
            }
            const bool held = told[HOLDER] >= 0.0;
            if (held && !tied)
                put_at(b, i, make(told[0], told[1], told[2]), make(0.0, 0.0, 0.0));
            b->books[4 * i + DEEPEST] = more(b->books[4 * i + DEEPEST], told[DEPTH]);
            b->books[4 * i + TOUCHING] += held;
        }
    }
}

// puts rows that have gone in back onto the surface; they lose their velocity into it and a share of
// their sliding
KERNEL project() {
    BODY EACH_ROW(i, b->rows - 1) {
        const Sides *s = &b->projected;
        double *told = s->told + TOLD * i;
        vec x = load(b->x, i), v = load(b->v, i);
        b->lost[i] = 0.0;
        store(b->y, i, x);
        if (i < b->own && told[FELT] != 0.0) {
            told[DEPTH] = told[PUT_BACK] = 0.0;
            for (whole c = 0; c < s->count; ++c) {
                const double *q = s->numbers + 7 * c;
                const double d = distance(s->kind[c], q, x);
                if (!(d < 0.0)) continue;
                vec n = normal(s->kind[c], q, x);
                double out = dot(v, n);
                x = x - d * n;
                v = more(0.0, out) * n + (1.0 - s->friction) * (v - out * n);
                told[PUT_BACK] += 1.0;
                told[DEPTH] = more(told[DEPTH], -d);
            }
            if (told[PUT_BACK] != 0.0) put_at(b, i, x, v);
            b->books[4 * i + DEEPEST] = more(b->books[4 * i + DEEPEST], told[DEPTH]);
            b->books[4 * i + TOUCHING] += told[PUT_BACK];
        }
    }
}

// what putting rows elsewhere, from y to x, has taken of what is stored
KERNEL displaced(whole later) {
    BODY if (!b->marks[NOW]) return;
    EACH_ROW_BY_LANES(i, b->rows - 1) {
        vec OF_LANES(springs, springs_of_row(b, i, lane, b->y) - springs_of_row(b, i, lane, b->x))
        vec OF_LANES(solid, solid_of_row(b, i, lane, b->y) - solid_of_row(b, i, lane, b->x))
        FIRST_LANE {
            const whole place = *b->done + later + 1;
            vec was = load(b->y, i), is = load(b->x, i);
            vec sum = springs + solid;
            if (was.x != is.x || was.y != is.y || was.z != is.z)
                sum = sum + stored_alone(b, i, place, was) - stored_alone(b, i, place, is);
            b->lost[i] += sum.x + sum.y + sum.z;
        }
    }
}

// nothing that stands still adds energy: what comes out all the same is invented
KERNEL book_displaced() {
    BODY SHARED(room) if (!b->marks[NOW]) return;
    EACH_OF(p, 0, MANY) {
        room[p] = 0.0;
        for (whole i = p; i < b->rows - 1; i += MANY) room[p] += b->lost[i];
    }
    ADD_UP(room, MANY, 1)
    EACH_OF(one, 0, 1) {
        if (room[0] >= 0.0) b->settled[0] += room[0];
        else b->settled[1] -= room[0];
        b->marks[NOW] = 0;
    }
}
#endif
