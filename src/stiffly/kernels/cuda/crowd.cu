// Bodies that touch each other and themselves, as kernels/cpu/barrier.py has it:
//
//     E = sum m k/2 (t - d)^4 / d^2   over pairs closer than t
//
// of a vertex and a triangle, or of two edges.  Elements are numbered vertices first, then edges,
// then triangles.  Each has a list of those that may press it on the ways of the next steps, all near
// a straight line; each sums what presses its own corners, and rows gather from their elements.  So a
// pair is computed twice, nothing is added by two threads at once, and what presses nothing changes
// no bit: which list somebody is in makes no difference.

#if HAS_CROWD
#define KEPT 0.1     // as in pair_distance.py
#define BACK 0.4736  // of a distance now: a pair that came by no more kept a tenth of what it was
#define DEPTH 48     // levels of a tree, about
enum { STRAYED, PASSED, CROWDED };  // flags

struct Crowd {
    whole vertices, edges, faces, room;  // how many; room: of a list
    double thickness, stiffness, friction, stray;  // stray: how far off its line a particle may be
    const unsigned *vertex, *edge, *face;  // rows of corners
    const unsigned *piece;                 // (rows,)
    const double *rest, *size;  // (rows, 4); (edges,): the larger of its and the thickness' square
    double parallel;
    whole width[3];
    double *boxes[3];  // trees of vertices, edges, triangles: (2 width, 6) each
    unsigned *count, *list;
    double *reach;
    const unsigned *first, *slot;    // slots of row i: slot[first[i] .. first[i + 1])
    double *push, *brake, *pressed;  // (slots, 4), (slots, 4), (rows,)
    double *told;                    // (elements, 2): energy, pairs that press
    double *from, *going;            // (rows, 4): the line on which a row is thought to be
    whole *flags;                    // of these steps; and the step from which lines begin
};

struct Corners {
    int count;
    unsigned row[3];
};
DEVICE int kind_of(const Crowd *o, whole k) {
    return k < o->vertices ? 0 : (k < o->vertices + o->edges ? 1 : 2);
}
DEVICE whole first_of(const Crowd *o, int kind) {
    return kind == 0 ? 0 : (kind == 1 ? o->vertices : o->vertices + o->edges);
}
DEVICE whole slot_of(const Crowd *o, whole k, int kind) {
    const whole j = k - first_of(o, kind);
    return kind == 0 ? j : (kind == 1 ? o->vertices + 2 * j : o->vertices + 2 * o->edges + 3 * j);
}
DEVICE Corners corners_of(const Crowd *o, int kind, whole j) {
    Corners r = {kind + 1, {0, 0, 0}};
    const unsigned *rows = kind == 0 ? o->vertex : (kind == 1 ? o->edge : o->face);
    for (int c = 0; c <= kind; ++c) r.row[c] = rows[(kind + 1) * j + c];
    return r;
}

// how far a row is thought to go in so many steps
DEVICE vec way_of(const Body *b, whole i, whole steps) {
    return (b->drift[0] * steps) * load(b->v, i);
}

struct Box {
    vec low, high;
};
DEVICE vec lower(vec a, vec c) { return make(fewer(a.x, c.x), fewer(a.y, c.y), fewer(a.z, c.z)); }
DEVICE vec upper(vec a, vec c) { return make(more(a.x, c.x), more(a.y, c.y), more(a.z, c.z)); }
DEVICE Box around(Box a, Box c) {
    Box r = {lower(a.low, c.low), upper(a.high, c.high)};
    return r;
}
DEVICE Box nowhere() {
    Box r = {make(ENDLESS, ENDLESS, ENDLESS), make(-ENDLESS, -ENDLESS, -ENDLESS)};
    return r;
}
// of an element on its way
DEVICE Box swept(const Body *b, const Corners &c, whole steps) {
    Box r = nowhere();
    for (int k = 0; k < c.count; ++k) {
        const vec x = load(b->x, c.row[k]), end = x + way_of(b, c.row[k], steps);
        Box own = {lower(x, end), upper(x, end)};
        r = around(r, own);
    }
    return r;
}
DEVICE bool overlap(Box a, Box c) {
    return a.low.x <= c.high.x && c.low.x <= a.high.x && a.low.y <= c.high.y &&
           c.low.y <= a.high.y && a.low.z <= c.high.z && c.low.z <= a.high.z;
}
DEVICE Box box_of(const double *p) {
    Box r = {make(p[0], p[1], p[2]), make(p[3], p[4], p[5])};
    return r;
}
DEVICE void keep_box(double *p, Box a) {
    p[0] = a.low.x;
    p[1] = a.low.y;
    p[2] = a.low.z;
    p[3] = a.high.x;
    p[4] = a.high.y;
    p[5] = a.high.z;
}

#ifdef SHIM
#define EACH_TREE(k) EACH_BLOCK(k, 3)
#else
#define EACH_TREE(k) const whole k = blockIdx.x;
#endif

// boxes of the three trees, a block each, for the next steps
WIDE_KERNEL crowd_boxes(whole steps) {
    BODY EACH_TREE(k) {
        const Crowd *o = b->crowd;
        const whole counts[3] = {o->vertices, o->edges, o->faces};
        double *boxes = o->boxes[k];
        const whole width = o->width[k];
        EACH_OF(j, 0, width) {
            Box leaf = nowhere();
            for (whole e = LEAF * j; e < LEAF * (j + 1) && e < counts[k]; ++e)
                leaf = around(leaf, swept(b, corners_of(o, (int)k, e), steps));
            keep_box(boxes + 6 * (width + j), leaf);
        }
        WAIT
        for (whole level = width / 2; level; level /= 2) {
            EACH_OF(j, level, 2 * level) {
                keep_box(
                    boxes + 6 * j, around(box_of(boxes + 12 * j), box_of(boxes + 12 * j + 6))
                );
            }
            WAIT
        }
    }
}

// ------------------------------------------------------------------ pairs

// weights of the four corners, the vector between the closest points, and how long it is
struct Pair {
    double w[4], d;
    vec r;
};

// s, t of the closest points of two edges from a along u and from c along v
DEVICE void on_edges(vec a, vec e, vec c, vec f, double *s, double *t) {
    const vec u = e - a, v = f - c, r = c - a;
    const double uu = dot(u, u), uv = dot(u, v), vv = dot(v, v), ru = dot(r, u), rv = dot(r, v);
    const double det = uu * vv - uv * uv;
    *s = *t = -1.0;
    if (det > FLAT * uu * vv) {
        *s = (vv * ru - uv * rv) / det;
        *t = (uv * ru - uu * rv) / det;
    } else if (uu > 0.0 && vv > 0.0) {  // parallel: in the middle of where they run side by side
        const double first = ru / uu, last = (ru + uv) / uu;
        const double low = more(0.0, fewer(first, last)), high = fewer(1.0, more(first, last));
        if (low <= high) {
            *s = 0.5 * (low + high);
            *t = fewer(1.0, more(0.0, (*s * uv - rv) / vv));
        }
    }
    if (0.0 <= *s && *s <= 1.0 && 0.0 <= *t && *t <= 1.0) return;
    double other, best = along_segment(a, c, f, t), square;
    *s = 0.0;
    square = along_segment(e, c, f, &other);
    if (square < best) {
        best = square;
        *s = 1.0;
        *t = other;
    }
    square = along_segment(c, a, e, &other);
    if (square < best) {
        best = square;
        *s = other;
        *t = 0.0;
    }
    square = along_segment(f, a, e, &other);
    if (square < best) {
        *s = other;
        *t = 1.0;
    }
}

DEVICE Pair pair_of(bool edges, const vec *X) {
    Pair p;
    if (edges) {
        double s, t;
        on_edges(X[0], X[1], X[2], X[3], &s, &t);
        p.w[0] = 1.0 - s;
        p.w[1] = s;
        p.w[2] = t - 1.0;
        p.w[3] = -t;
    } else {
        const vec g = on_triangle(X[0], X[1], X[2], X[3]);
        p.w[0] = 1.0;
        p.w[1] = -g.x;
        p.w[2] = -g.y;
        p.w[3] = -g.z;
    }
    p.r = (p.w[1] * (X[1] - X[0]) + p.w[2] * (X[2] - X[0])) + p.w[3] * (X[3] - X[0]);
    p.d = sqrt(dot(p.r, p.r));
    return p;
}

// a lower bound of it at a tenth of the cost
DEVICE double gap_between(bool edges, const vec *X) {
    Box one = {X[0], X[0]}, two = {lower(X[2], X[3]), upper(X[2], X[3])};
    Box &own = edges ? one : two;
    own.low = lower(own.low, X[1]);
    own.high = upper(own.high, X[1]);
    const vec ahead = upper(two.low - one.high, one.low - two.high);
    return more(0.0, more(ahead.x, more(ahead.y, ahead.z)));
}

// the most by which points of the two sides approach, all of which move by D
DEVICE double approach(bool edges, const vec *D) {
    const vec mean = 0.25 * (D[0] + D[1] + D[2] + D[3]);
    double first = 0.0, second = 0.0;
    for (int c = 0; c < 4; ++c) {
        const vec own = D[c] - mean;
        double &side = c < (edges ? 2 : 1) ? first : second;
        side = more(side, dot(own, own));
    }
    return sqrt(first) + sqrt(second);
}

// the four corners of element k and its partner j: an edge of a lower number first, a vertex first
struct Four {
    unsigned row[4];
    int own;  // where those of k begin
    bool edges;
};
DEVICE Four four_of(const Crowd *o, whole k, int kind, whole j) {
    const whole own = k - first_of(o, kind);
    Four r;
    r.edges = kind == 1;
    const bool after = kind == 2 || (kind == 1 && j < own);
    const Corners a = corners_of(o, kind == 1 ? 1 : 0, after ? j : own);
    const Corners c = corners_of(o, kind == 1 ? 1 : 2, after ? own : j);
    for (int i = 0; i < a.count; ++i) r.row[i] = a.row[i];
    for (int i = 0; i < c.count; ++i) r.row[a.count + i] = c.row[i];
    r.own = after ? a.count : 0;
    return r;
}
DEVICE void load_four(const double *x, const Four &p, vec *X) {
    for (int c = 0; c < 4; ++c) X[c] = load(x, p.row[c]);
}

DEVICE double soft_of(const Crowd *o, whole k, whole j) {
    return o->parallel * o->size[k - o->vertices] * o->size[j];
}

// ------------------------------------------------------------------ who may press whom

// whether a pair may come closer than it reaches, which is written
DEVICE bool near_pair(
    const Body *b, const Crowd *o, const Four &p, whole steps, double *reach
) {
    bool moves = false;
    for (int c = 0; c < 4; ++c) {
        moves = moves || p.row[c] < b->own;
        for (int e = 0; e < c; ++e) {
            if (p.row[c] == p.row[e]) return false;
        }
    }
    if (!moves) return false;
    vec X[4];
    *reach = o->thickness;
    if (o->piece[p.row[0]] == o->piece[p.row[2]]) {
        load_four(o->rest, p, X);
        *reach = fewer(*reach, 0.5 * pair_of(p.edges, X).d);
    }
    load_four(b->x, p, X);
    const double d = pair_of(p.edges, X).d;
    const int split = p.edges ? 2 : 1;
    double way = 0.0;
    for (int c = 0; c < split; ++c) {
        for (int e = split; e < 4; ++e) {
            const vec own = way_of(b, p.row[e], steps) - way_of(b, p.row[c], steps);
            way = more(way, dot(own, own));
        }
    }
    return *reach > 0.0 && d - sqrt(way) - 2.0 * o->stray < *reach;
}

// lists of who may press whom in the next steps
KERNEL crowd_lists(whole later, whole steps) {
    BODY EACH_ROW(k, b->crowd->vertices + b->crowd->edges + b->crowd->faces) {
        const Crowd *o = b->crowd;
        const int kind = kind_of(o, k), other = 2 - kind;
        const whole width = o->width[other], own = k - first_of(o, kind);
        const whole counts[3] = {o->vertices, o->edges, o->faces};
        const Corners mine = corners_of(o, kind, own);
        const double *boxes = o->boxes[other], room = o->thickness + 2.0 * o->stray;
        Box here = swept(b, mine, steps);
        here.low = here.low - make(room, room, room);
        here.high = here.high + make(room, room, room);
        if (kind == 0) {
            store(o->from, mine.row[0], load(b->x, mine.row[0]));
            store(o->going, mine.row[0], load(b->v, mine.row[0]));
        }
        if (k == 0) o->flags[3] = *b->done + later;
        unsigned stack[DEPTH], found = 0;
        int depth = 1;
        stack[0] = 1;
        while (depth) {
            const whole node = stack[--depth];
            if (!overlap(here, box_of(boxes + 6 * node))) continue;
            if (node < width) {
                stack[depth++] = 2 * node + 1;
                stack[depth++] = 2 * node;
                continue;
            }
            const whole first = LEAF * (node - width);
            for (whole j = first; j < first + LEAF && j < counts[other]; ++j) {
                if (kind == 1 && j == own) continue;
                if (!overlap(here, swept(b, corners_of(o, other, j), steps))) continue;
                double reach;
                if (!near_pair(b, o, four_of(o, k, kind, j), steps, &reach)) continue;
                if (found < o->room) {
                    o->list[o->room * k + found] = j;
                    o->reach[o->room * k + found] = reach;
                }
                ++found;
            }
        }
        if (found > o->room) {
            o->flags[CROWDED] = 1;
            found = o->room;
        }
        o->count[k] = found;
        if (!found) {
            const whole slot = slot_of(o, k, kind);
            for (int c = 0; c < 4 * mine.count; ++c) o->push[4 * slot + c] = o->brake[4 * slot + c] = 0.0;
            o->told[2 * k] = o->told[2 * k + 1] = 0.0;
        }
    }
}

// ------------------------------------------------------------------ what presses

// of the corners of an element: vectors and numbers; and two numbers of its own
struct Sums {
    vec a[3];
    double p[3], energy, pairs;
};
DEVICE Sums operator+(Sums one, const Sums &two) {
    for (int c = 0; c < 3; ++c) {
        one.a[c] = one.a[c] + two.a[c];
        one.p[c] += two.p[c];
    }
    one.energy += two.energy;
    one.pairs += two.pairs;
    return one;
}
#ifndef SHIM
DEVICE Sums shuffled(Sums one, int hop) {
    for (int c = 0; c < 3; ++c) one.a[c] = shuffled(one.a[c], hop);
    const vec p = shuffled(make(one.p[0], one.p[1], one.p[2]), hop);
    const vec own = shuffled(make(one.energy, one.pairs, 0.0), hop);
    one.p[0] = p.x;
    one.p[1] = p.y;
    one.p[2] = p.z;
    one.energy = own.x;
    one.pairs = own.y;
    return one;
}
#endif

// k times: the slope of the barrier, which is the force, and its height
DEVICE double pressing(const Crowd *o, double d, double t) {
    const double in = t - d;
    return o->stiffness * (in * in * in) * (t + d) / (d * d * d);
}

DEVICE vec along(const vec *X, bool second) { return second ? X[3] - X[2] : X[1] - X[0]; }

// how much of their force two edges have that are nearly parallel, 1 for all other pairs; c: see
// `crossing` of barrier.py
DEVICE double share_of(bool edges, const vec *X, double soft, double *c) {
    *c = 1.0;
    if (!edges || !(soft > 0.0)) return 1.0;
    const vec n = cross(along(X, false), along(X, true));
    *c = dot(n, n) / soft;
    return *c < 1.0 ? (2.0 - *c) * *c : 1.0;
}

// the sums of a lane of element k: partners are dealt to lanes by their numbers
DEVICE Sums pressed_by(const Body *b, const Crowd *o, whole k, int kind, int lane) {
    Sums r = {};
    const unsigned count = o->count[k];
    for (unsigned e = 0; e < count; ++e) {
        const unsigned j = o->list[o->room * k + e];
        if (j % LANES != (unsigned)lane) continue;
        const Four p = four_of(o, k, kind, j);
        const double t = o->reach[o->room * k + e];
        vec X[4], D[4];
        load_four(b->x, p, X);
        for (int c = 0; c < 4; ++c) D[c] = way_of(b, p.row[c], 1);
        const double gap = gap_between(p.edges, X), speed = approach(p.edges, D);
        if (gap >= t) {
            if (!(speed <= BACK * gap)) o->flags[PASSED] = 1;
            continue;
        }
        const Pair pair = pair_of(p.edges, X);
        if (!(speed <= BACK * pair.d)) o->flags[PASSED] = 1;
        if (!(pair.d < t)) continue;
        const double soft = p.edges ? soft_of(o, k, j) : 0.0, in = t - pair.d;
        double c;
        const double m = share_of(p.edges, X, soft, &c), f = m * pressing(o, pair.d, t);
        const double high = 0.5 * o->stiffness * (in * in) * (in * in) / (pair.d * pair.d);
        r.energy += (p.edges ? 0.5 : 1.0) * m * high;
        r.pairs += p.edges ? 0.5 : 1.0;
        const vec away = (f / pair.d) * pair.r;
        const int corners = kind + 1;
        for (int i = 0; i < corners; ++i) {
            const double w = pair.w[p.own + i];
            r.a[i] = r.a[i] + w * away;
            r.p[i] += fabs(w) * f;
        }
        if (c < 1.0) {  // it fades: the force by the angle, too
            const bool second = p.own > 0;
            const vec u = along(X, false), v = along(X, true);
            const vec mine = second ? v : u, others = second ? u : v;
            const double rate = 2.0 * high * (2.0 - 2.0 * c) / soft;
            const vec turn = rate * (dot(others, others) * mine - dot(u, v) * others);
            r.a[0] = r.a[0] + turn;
            r.a[1] = r.a[1] - turn;
        }
    }
    return r;
}

KERNEL crowd_push() {
    BODY EACH_ROW_BY_LANES(k, b->crowd->vertices + b->crowd->edges + b->crowd->faces) {
        const Crowd *o = b->crowd;
        const int kind = kind_of(o, k);
        if (o->count[k]) {
            Sums OF_LANES(sums, pressed_by(b, o, k, kind, lane))
            FIRST_LANE {
                const whole slot = slot_of(o, k, kind);
                for (int c = 0; c <= kind; ++c) {
                    store(o->push, slot + c, sums.a[c]);
                    o->push[4 * (slot + c) + 3] = sums.p[c];
                }
                o->told[2 * k] = kind < 2 ? sums.energy : 0.0;
                o->told[2 * k + 1] = kind < 2 ? sums.pairs : 0.0;
            }
        }
    }
}

// what presses a row; how hard, all in all, is kept
DEVICE vec crowd_force(const Body *b, whole i) {
    const Crowd *o = b->crowd;
    vec force = make(0.0, 0.0, 0.0);
    double pressed = 0.0;
    for (unsigned e = o->first[i]; e < o->first[i + 1]; ++e) {
        force = force + load(o->push, o->slot[e]);
        pressed += o->push[4 * o->slot[e] + 3];
    }
    o->pressed[i] = pressed;
    return force;
}

// energy and pairs of the elements that are this row's to tell: its vertex, edges that begin there
DEVICE vec crowd_told(const Body *b, whole i) {
    const Crowd *o = b->crowd;
    vec sum = make(0.0, 0.0, 0.0);
    for (unsigned e = o->first[i]; e < o->first[i + 1]; ++e) {
        const whole slot = o->slot[e], side = slot - o->vertices;
        if (side >= 2 * o->edges || (side >= 0 && side % 2)) continue;
        const double *own = o->told + 2 * (side < 0 ? slot : o->vertices + side / 2);
        sum = sum + make(own[0], own[1], 0.0);
    }
    return sum;
}

// whether a row is still where lists expect it, after step n
DEVICE void stay_near(const Body *b, whole i, whole n, vec at) {
    const Crowd *o = b->crowd;
    if (o->first[i] == o->first[i + 1]) return;
    const double since = b->drift[0] * (n + 1 - o->flags[3]);
    const vec off = at - (load(o->from, i) + since * load(o->going, i));
    if (!(dot(off, off) <= o->stray * o->stray)) o->flags[STRAYED] = 1;
}

// ------------------------------------------------------------------ friction
// See `pair_friction` of barrier.py: each contact has the share of its particles' masses that it has
// of what presses these, and all slow their sliding at once.

DEVICE Sums braked_by(const Body *b, const Crowd *o, whole k, int kind, int lane) {
    Sums r = {};
    const unsigned count = o->count[k];
    for (unsigned e = 0; e < count; ++e) {
        const unsigned j = o->list[o->room * k + e];
        if (j % LANES != (unsigned)lane) continue;
        const Four p = four_of(o, k, kind, j);
        const double t = o->reach[o->room * k + e];
        vec X[4];
        load_four(b->x, p, X);
        if (gap_between(p.edges, X) >= t) continue;
        const Pair pair = pair_of(p.edges, X);
        if (!(pair.d < t) || !(pair.d > 0.0)) continue;
        double c;
        const double m = share_of(p.edges, X, p.edges ? soft_of(o, k, j) : 0.0, &c);
        const double f = m * pressing(o, pair.d, t), most = o->friction * b->h * f;
        if (!(most > 0.0)) continue;
        vec d = make(0.0, 0.0, 0.0);
        double light = 0.0;
        for (int i = 0; i < 4; ++i) {
            d = d + pair.w[i] * load(b->v, p.row[i]);
            light += fabs(pair.w[i]) * b->inverse[p.row[i]] * o->pressed[p.row[i]] / f;
        }
        const vec n = (1.0 / pair.d) * pair.r, u = d - dot(d, n) * n;
        const double speed = sqrt(dot(u, u));
        if (speed == 0.0 || light == 0.0) continue;
        const double impulse = fewer(most / speed, 1.0 / light);
        for (int i = 0; i <= kind; ++i) r.a[i] = r.a[i] - (impulse * pair.w[p.own + i]) * u;
    }
    return r;
}

KERNEL crowd_brake() {
    BODY EACH_ROW_BY_LANES(k, b->crowd->vertices + b->crowd->edges + b->crowd->faces) {
        const Crowd *o = b->crowd;
        const int kind = kind_of(o, k);
        if (o->count[k]) {
            Sums OF_LANES(sums, braked_by(b, o, k, kind, lane))
            FIRST_LANE {
                for (int c = 0; c <= kind; ++c) store(o->brake, slot_of(o, k, kind) + c, sums.a[c]);
            }
        }
    }
}

KERNEL crowd_slow() {
    BODY EACH_ROW(i, b->own) {
        const Crowd *o = b->crowd;
        vec impulse = make(0.0, 0.0, 0.0);
        for (unsigned e = o->first[i]; e < o->first[i + 1]; ++e)
            impulse = impulse + load(o->brake, o->slot[e]);
        const vec change = b->inverse[i] * impulse;
        if (dot(change, change) > 0.0) {
            const vec v = load(b->v, i);
            store(b->v, i, v + change);
            store(b->ahead, i, load(b->ahead, i) + change);
            store(b->a, i, load(b->a, i) - alpha_of(b, i) * change);
            b->books[4 * i + DISSIPATED] -= 0.5 * b->mass[i] * dot(change, v + v + change);
        }
    }
}
#endif
