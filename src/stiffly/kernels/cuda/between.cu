// What acts between two steps, after all that a row does alone.

#if HAS_BETWEEN
#define PARTS 128  // sums of a chunk that are added up by halves; as many threads a block
#define SUMMED 16  // numbers of each chunk

// ------------------------------------------------------------------ damping of all but rigid motion
// A body is one chunk or several.  A chunk sums its rows, in an order that depends on nothing else,
// and every chunk adds up what all of its body have found.

#ifdef SHIM
#define EACH_CHUNK(k) EACH_BLOCK(k, b->chunks)
#else
#define EACH_CHUNK(k) const whole k = blockIdx.x;
#endif

// adds up PARTS sums of `count` numbers each: the last ones are then room[0 .. count)
#define ADD_UP(room, count)                                                                        \
    WAIT                                                                                           \
    for (int half = PARTS / 2; half; half /= 2) {                                                  \
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
        ADD_UP(room, 6)
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
        ADD_UP(room, 9)
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
            store(b->v, i, v + change);
            store(b->ahead, i, load(b->ahead, i) + change);
            store(b->a, i, load(b->a, i) - alpha_of(b, i) * change);
            b->books[4 * i + DISSIPATED] -= 0.5 * b->mass[i] * dot(change, v + v + change);
        }
    }
}
#endif
