// All steps of bodies that fit a block in one call: their rows stay in registers, their positions and
// springs in the memory that a block shares.

// Entries of springs, as they lie in the slices of rows that move, then of led ones.
struct Table {
    double *rest, *stiffness;
    unsigned short *other;  // numbers within the block
    int own, led;           // what to take from where an entry lies in slices
    int count;
};

// A block: rows that move, led ones, held ones that these see, numbered in this order; where all
// are, three numbers each, in one of two arrays by turns; and where they are in the middle of a step.
struct Block {
    int from, to, first, end, seen, held, own, led, count;
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

// entries of rows from .. to: where they begin and end in slices
DEVICE whole begin_of(const Slices &s, whole from) { return s.start[from / SLICE]; }
DEVICE whole finish_of(const Slices &s, whole from, whole to) {
    return to > from ? s.start[(to - 1) / SLICE + 1] : begin_of(s, from);
}

// room for the entries of a block's springs, behind what is taken already
DEVICE double *table_of(const Slices &s, const Block &o, double *room, Table *t) {
    t->own = begin_of(s, o.from);
    whole own = finish_of(s, o.from, o.to) - t->own;
    t->led = begin_of(s, o.first) - own;
    t->count = finish_of(s, o.first, o.end) - t->led;
    t->rest = room;
    t->stiffness = t->rest + t->count;
    t->other = (unsigned short *)(t->stiffness + t->count);
    return (double *)(t->other + t->count);
}

DEVICE Block block_of(const Body *b, whole k, double *room) {
    Block o;
    o.from = b->blocks[k], o.to = b->blocks[k + 1];
    o.first = b->block_led[k], o.end = b->block_led[k + 1];
    o.seen = b->block_seen[k], o.held = b->block_seen[k + 1] - o.seen;
    o.own = o.to - o.from, o.led = o.end - o.first, o.count = o.own + o.led + o.held;
    o.at = room;
    o.middle = room += 6 * o.count;
    if (HAS_POWERS && o.led) room += 3 * o.count;
    if (HAS_LINEAR) room = table_of(b->linear.rows, o, room, &o.linear);
    if (HAS_CUBIC) room = table_of(b->cubic.rows, o, room, &o.cubic);
    return o;
}

// entry q of a table, from where it lies in slices
DEVICE void bring(const Body *b, const Block &o, const Springs *s, const Table &t, whole q) {
    whole own = finish_of(s->rows, o.from, o.to) - t.own, p = q + (q < own ? t.own : t.led);
    const Far far = far_end(s, p);
    t.rest[q] = s->rest[p];
    t.stiffness[q] = far.stiffness;
    t.other[q] = number_of(b, o, far.row);
}

// entries of a row in a table
struct Span {
    int begin, end;
};
DEVICE Span span_of(const Slices &s, whole i, whole shift) {
    Span r = {
        int(s.start[i / SLICE] + LANES * (i % SLICE) - shift), int(s.start[i / SLICE + 1] - shift)
    };
    return r;
}
struct Spans {
    Span linear, cubic;
};
DEVICE Spans spans_of(const Body *b, const Block &o, whole i) {
    const bool own = i < o.to;
    Spans r = {};
    if (HAS_LINEAR) r.linear = span_of(b->linear.rows, i, own ? o.linear.own : o.linear.led);
    if (HAS_CUBIC) r.cubic = span_of(b->cubic.rows, i, own ? o.cubic.own : o.cubic.led);
    return r;
}

// a row while its block takes it through many steps
struct Own : Row {
    Spans spans;
};

DEVICE vec springs_there(const Table &t, bool cubic, Span own, int lane, vec here, const double *at) {
    vec force = make(0.0, 0.0, 0.0);
#pragma unroll 4
    for (int p = own.begin + lane; p < own.end; p += 32) {
        vec d = here - placed(at, t.other[p]);
        force = force - spring_scale(dot(d, d), t.stiffness[p], t.rest[p], cubic) * d;
    }
    return force;
}

// what `elastic` is elsewhere, of row i, number k of its block
DEVICE vec elastic_there(
    const Body *b, const Block &o, const Spans &spans, whole i, int k, int lane, const double *at
) {
    vec force = make(0.0, 0.0, 0.0), here = placed(at, k);
    const Places x = {&o, at};
    if (HAS_LINEAR)
        force = force + springs_there(o.linear, false, spans.linear, lane, here, at);
    if (HAS_CUBIC) force = force + springs_there(o.cubic, true, spans.cubic, lane, here, at);
    if (HAS_FACES) force = force + face_forces(b, i, lane, x);
    if (HAS_TETS) force = force + tet_forces(b, i, lane, x);
    return force;
}

// a stage of a row of which others pull as they do, and what ends its step
DEVICE void kick_there(const Body *b, whole i, whole n, whole s, vec pull, Row *r) {
    const whole entry = entry_of(b, n, s);
    r->a = pulled(b, i, n, pull + row_loads(b, i, entry, r->ahead).force, r->x, r->ahead);
    r->v = r->v + (b->kicks[s + 1] * b->h) * r->a;
    if (s + 1 < b->stages) return;
    finish(b, i, n, r);
    if (HAS_TOUCHES && HAS_LOADS && b->touches && b->drags)  // at other velocities
        r->a = pulled(b, i, n + 1, pull + row_loads(b, i, entry, r->ahead).force, r->x, r->ahead);
}

// what a support adds at a row that it leads
DEVICE vec led_power(
    const Body *b, const Block &o, const Spans &spans, whole i, int lane, whole entry,
    const double *at
) {
    const vec speed = led(b, i, entry).v;
    Load r = {make(0.0, 0.0, 0.0), 0.0, 0.0};
    if (lane == 0) r = row_loads(b, i, entry, speed);
    vec pull = elastic_there(b, o, spans, i, o.own + i - o.first, lane, at);
    return make(r.added - dot(r.force + pull, speed), r.taken, 0.0);
}

// Positions go to one of two arrays by turns, so that a stage waits once: who writes to one knows that
// everybody has read it.
BLOCK_KERNEL bodies(whole count) {
    BODY ROWS SHARED(room) EACH_BLOCK(k, b->any_block) {
        const Block o = block_of(b, k, room);
        const whole begun = *b->done;
        const bool led_books = HAS_POWERS && o.led;
        EACH_OWN(i, o.from, o.to) {
            (Row &)MINE = kept(b, i);
            MINE.spans = spans_of(b, o, i);
        }
        EACH_OF(j, 0, o.held) {
            const vec x = load(b->x, b->seen[o.seen + j]);
            for (int turn = 0; turn < (led_books ? 3 : 2); ++turn)
                place(o.at + 3 * turn * o.count, o.own + o.led + j, x);
        }
        if (HAS_LINEAR) EACH_OF(q, 0, o.linear.count) { bring(b, o, &b->linear, o.linear, q); }
        if (HAS_CUBIC) EACH_OF(q, 0, o.cubic.count) { bring(b, o, &b->cubic, o.cubic, q); }
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
                        pull, elastic_there(b, o, MINE.spans, i, i - o.from, lane, at)
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
                EACH_OF_BY_LANES(i, o.first, o.end) {
                    const Spans spans = spans_of(b, o, i);
                    vec OF_LANES(
                        half, led_power(b, o, spans, i, lane, middle_of(b, n), o.middle)
                    )
                    vec OF_LANES(now, led_power(b, o, spans, i, lane, end_of(b, n), at))
                    FIRST_LANE { add_work(b, b->power + 2 * i, b->books + 4 * i, half, now); }
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
