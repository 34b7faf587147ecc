// All steps of bodies that fit a block in one call: their rows stay in registers, their positions and
// springs in the memory that a block shares.

// Springs of all threads of a block: a thread's own ones lie `width` apart.
struct Table {
    extent *rest;
    real *stiffness;
    unsigned short *other;  // numbers within the block
};

// A block: rows that move, led ones, held ones that these see, numbered in this order; where all
// are, three numbers each, in one of two arrays by turns; and where they are in the middle of a step.
struct Block {
    int from, to, first, end, seen, held, own, led, count, width;
    double *at, *middle;
    Table linear, cubic;
};

// positions of a block's rows for what goes by the numbers of all: as `load` of an array of them
struct Places {
    const Block *o;
    const double *at;
};
DEVICE vec placed(const double *at, int k) { return make(at[3 * k], at[3 * k + 1], at[3 * k + 2]); }
DEVICE void place(double *at, int k, vec x) {
    at[3 * k] = x.x;
    at[3 * k + 1] = x.y;
    at[3 * k + 2] = x.z;
}
DEVICE vec load(const Places &x, whole i) {
    if (i >= x.o->from && i < x.o->to) return placed(x.at, i - x.o->from);
    if (i >= x.o->first && i < x.o->end) return placed(x.at, x.o->own + i - x.o->first);
    return load(body.x, i);  // held
}

// the number of a row within its block; what fills a slice pulls at nobody
DEVICE int number_of(const Body *b, const Block &o, whole i) {
    if (i >= o.from && i < o.to) return i - o.from;
    if (i >= o.first && i < o.end) return o.own + i - o.first;
    for (int k = 0; k < o.held; ++k)
        if (b->seen[o.seen + k] == i) return o.own + o.led + k;
    return 0;
}

// room for as many entries a thread as `turns`, behind what is taken already
DEVICE double *table_of(const Block &o, whole turns, double *room, Table *t) {
    const int count = (o.width * turns + 3) / 4 * 4;  // in whole words
    t->rest = (extent *)room;
    t->stiffness = (real *)(t->rest + count);
    t->other = (unsigned short *)(t->stiffness + count);
    return (double *)(t->other + count);
}

DEVICE Block block_of(const Body *b, whole k, whole linear, whole cubic, double *room) {
    Block o;
    o.from = b->blocks[k], o.to = b->blocks[k + 1];
    o.first = b->block_led[k], o.end = b->block_led[k + 1];
    o.seen = b->block_seen[k], o.held = b->block_seen[k + 1] - o.seen;
    o.own = o.to - o.from, o.led = o.end - o.first, o.count = o.own + o.led + o.held;
    o.width = LANES * (o.own + o.led);
    o.at = room;
    o.middle = room += 6 * o.count;
    if (HAS_POWERS && o.led) room += 3 * o.count;
    if (HAS_LINEAR) room = table_of(o, linear, room, &o.linear);
    if (HAS_CUBIC) room = table_of(o, cubic, room, &o.cubic);
    return o;
}

// how many springs each thread of a row has
struct Turns {
    int linear, cubic;
};

DEVICE int turns_of(const Slices &s, whole i) {
    return (s.start[i / SLICE + 1] - s.start[i / SLICE]) / 32;
}
DEVICE Turns turns_of(const Body *b, whole i) {
    Turns r = {};
    if (HAS_LINEAR) r.linear = turns_of(b->linear.rows, i);
    if (HAS_CUBIC) r.cubic = turns_of(b->cubic.rows, i);
    return r;
}

// springs of a row, number k of its block, from where they lie in slices
DEVICE void bring(const Body *b, const Block &o, const Springs *s, const Table &t, whole i, int k) {
    for (int lane = 0; lane < LANES; ++lane) {
        int q = LANES * k + lane;
        for (ENTRIES(p, s->rows)) {
            const Far far = far_end(s, p);
            t.rest[q] = s->rest[p];
            t.stiffness[q] = far.stiffness;
            t.other[q] = number_of(b, o, far.row);
            q += o.width;
        }
    }
}
DEVICE void bring(const Body *b, const Block &o, whole i, int k) {
    if (HAS_LINEAR) bring(b, o, &b->linear, o.linear, i, k);
    if (HAS_CUBIC) bring(b, o, &b->cubic, o.cubic, i, k);
}

// a row while its block takes it through many steps
struct Own : Row {
    Turns turns;
};

// of a thread whose springs begin at q
DEVICE vec springs_there(
    const Block &o, const Table &t, bool cubic, int q, int turns, vec here, const double *at
) {
    vec force = make(0.0, 0.0, 0.0);
#pragma unroll 4
    for (int turn = 0; turn < turns; ++turn, q += o.width) {
        vec d = here - placed(at, t.other[q]);
        force = force - spring_scale(squared(d), t.stiffness[q], t.rest[q], cubic) * d;
    }
    return force;
}

// what `elastic` is elsewhere, of row i, number k of its block
DEVICE vec elastic_there(
    const Body *b, const Block &o, const Turns &turns, whole i, int k, int lane, const double *at
) {
    vec force = make(0.0, 0.0, 0.0), here = placed(at, k);
    const Places x = {&o, at};
    const int q = LANES * k + lane;
    if (HAS_LINEAR)
        force = force + springs_there(o, o.linear, false, q, turns.linear, here, at);
    if (HAS_CUBIC) force = force + springs_there(o, o.cubic, true, q, turns.cubic, here, at);
    if (HAS_FACES) force = force + face_forces(b, i, lane, x);
    if (HAS_TETS) force = force + tet_forces(b, i, lane, x);
    if (HAS_STEADY) force = force + steady_forces(b, i, lane, x);
    return force;
}

// a stage of a row of which others pull as they do, and what ends its step
DEVICE void kick_there(const Body *b, whole i, whole n, whole s, vec pull, Row *r) {
    const whole entry = entry_of(b, n, s);
    r->a = pulled(b, i, n, pull + row_loads(b, i, entry, r->ahead).force, r->x, r->ahead);
    r->v = r->v + b->kick[s + 1] * r->a;
    if (s + 1 < b->stages) return;
    finish(b, i, n, r);
    if (HAS_TOUCHES && HAS_LOADS && b->touches && b->drags)  // at other velocities
        r->a = pulled(b, i, n + 1, pull + row_loads(b, i, entry, r->ahead).force, r->x, r->ahead);
}

// what a support adds at a row that it leads
DEVICE vec led_power(
    const Body *b, const Block &o, const Turns &turns, whole i, int lane, whole entry,
    const double *at
) {
    const vec speed = led(b, i, entry).v;
    Load r = {make(0.0, 0.0, 0.0), 0.0, 0.0};
    if (lane == 0) r = row_loads(b, i, entry, speed);
    vec pull = elastic_there(b, o, turns, i, o.own + i - o.first, lane, at);
    return make(r.added - dot(r.force + pull, speed), r.taken, 0.0);
}

// linear, cubic: springs of a thread at most.  Positions go to one of two arrays by turns, so that a stage waits once: who writes to one knows that
// everybody has read it.
BLOCK_KERNEL bodies(whole count, whole linear, whole cubic) {
    BODY ROWS SHARED(room) EACH_BLOCK(k, b->any_block) {
        const Block o = block_of(b, k, linear, cubic, room);
        const whole begun = *b->done;
        const bool led_books = HAS_POWERS && o.led;
        EACH_OWN(i, o.from, o.to) {
            (Row &)MINE = kept(b, i);
            MINE.turns = turns_of(b, i);
        }
        EACH_OF(i, o.from, o.to) { bring(b, o, i, i - o.from); }
        EACH_OF(i, o.first, o.end) { bring(b, o, i, o.own + i - o.first); }
        EACH_OF(j, 0, o.held) {
            const vec x = load(b->x, b->seen[o.seen + j]);
            for (int turn = 0; turn < (led_books ? 3 : 2); ++turn)
                place(o.at + 3 * turn * o.count, o.own + o.led + j, x);
        }
        double *at = o.at, *other = o.at + 3 * o.count;
        for (whole n = begun; n < begun + count; ++n) {
            for (whole s = 0; s < b->stages; ++s) {
                double *swap = at;
                at = other, other = swap;
                EACH_OWN(i, o.from, o.to) {
                    FIRST_LANE {
                        if (s == 0) {
                            MINE.x0 = MINE.x;
                            MINE.v0 = MINE.v;
                        }
                        drift_row(b, s, &MINE);
                        place(at, i - o.from, MINE.x);
                    }
                }
                EACH_OF(i, o.first, o.end) {
                    place(at, o.own + i - o.first, led(b, i, entry_of(b, n, s)).x);
                }
                WAIT
                EACH_OWN(i, o.from, o.to) {
                    vec OF_LANES(
                        pull, elastic_there(b, o, MINE.turns, i, i - o.from, lane, at)
                    )
                    FIRST_LANE {
                        kick_there(b, i, n, s, pull, &MINE);
                        if (led_books) place(o.middle, i - o.from, MINE.x0);
                    }
                }
            }
            if (led_books) {
                EACH_OF(i, o.first, o.end) {
                    place(o.middle, o.own + i - o.first, led(b, i, middle_of(b, n)).x);
                }
                WAIT
                EACH_PAIR_BY_LANES(i, late, o.first, o.end) {
                    const whole entry = late ? end_of(b, n) : middle_of(b, n);
                    const double *places = late ? at : o.middle;
                    const Turns turns = turns_of(b, i);
                    vec OF_LANES(mine, led_power(b, o, turns, i, lane, entry, places))
                    OF_PAIR(half, now, late, mine)
                    FIRST_OF_PAIR { add_work(b, b->power + 2 * i, b->books + 4 * i, half, now); }
                }
            }
        }
        EACH_OWN(i, o.from, o.to) {
            FIRST_LANE {
                store(b->x, i, MINE.x);
                keep(b, i, &MINE);
            }
        }
        EACH_OF(i, o.first, o.end) {
            lead(b, i, entry_of(b, begun + count - 1, b->stages - 1), b->x, b->v);
        }
    }
}
