// Meshes as shapes: which point of a closed surface is closest, in the mesh's own frame, as
// kernels/cpu/mesh_distance.py finds it.
//
// A row remembers where it was looked at last, how far the surface was, and, where that is near, the
// triangles that can be closest as long as it stays around there.  What it remembers changes no bit:
// whoever has gone farther asks the tree.  Of triangles equally far the first one is taken.

#define STACK 48      // levels of a tree, about: 2^40 triangles
#define LISTED 16     // triangles that a row remembers
#define MEMORY 8      // numbers of a row's memory
#define SNAP 1e-12    // as in mesh_distance.py, like the next two
#define COINCIDING 1e-12
#define CANCELLED 1e-9
#define NEAR 1e-9     // [m] of every way
#define FLAT 1e-14    // as in pair_distance.py
#define SLACK (1.0 + 1e-12)  // boxes and triangles round differently
#define HALF_CELL 0.8660254037844387  // of a cell's side: half of its diagonal
enum { ASKED, LEAST = 3, MOST, REACHES, COUNTED };  // of a row's memory

// Fields have eight bytes, as layout.py fills them.
struct Solid {
    whole count, width;             // triangles; leaves of the tree
    const double *corners;          // (count, 9)
    const unsigned *faces;          // (count, 3)
    const double *boxes;            // (2 width, 6): low and high corners
    const double *flat, *side, *point;  // pseudonormals
    double low[3], high[3], cell;   // cells that fill its box, and signed distances of their middles
    whole cells[3];
    const double *middles;
    double *memory;                 // (rows, MEMORY)
    unsigned *listed;               // (rows, LISTED)
};

DEVICE double along_segment(vec p, vec a, vec b, double *s) {
    vec e = b - a, r = p - a;
    double square = dot(e, e);
    *s = square == 0.0 ? 0.0 : fewer(1.0, more(0.0, dot(r, e) / square));
    vec d = r + (-*s) * e;
    return dot(d, d);
}

// barycentric coordinates of the point of a triangle closest to p
DEVICE vec on_triangle(vec p, vec a, vec b, vec c) {
    vec u = b - a, v = c - a, r = p - a;
    double uu = dot(u, u), uv = dot(u, v), vv = dot(v, v), ru = dot(r, u), rv = dot(r, v);
    double det = uu * vv - uv * uv, y = vv * ru - uv * rv, z = uu * rv - uv * ru;
    if (det > FLAT * uu * vv && y >= 0.0 && z >= 0.0 && y + z <= det)
        return make(1.0 - (y + z) / det, y / det, z / det);
    double s, best = along_segment(p, a, b, &s), other;
    vec g = make(1.0 - s, s, 0.0);
    other = along_segment(p, b, c, &s);
    if (other < best) {
        best = other;
        g = make(0.0, 1.0 - s, s);
    }
    other = along_segment(p, c, a, &s);
    if (other < best) g = make(s, 0.0, 1.0 - s);
    return g;
}

DEVICE vec corner_of(const double *x, int k) { return make(x[3 * k], x[3 * k + 1], x[3 * k + 2]); }

// the point of triangle f closest to p
DEVICE vec closest(const Solid *m, vec p, whole f, vec *g) {
    const double *x = m->corners + 9 * f;
    vec a = corner_of(x, 0), b = corner_of(x, 1), c = corner_of(x, 2);
    *g = on_triangle(p, a, b, c);
    return (g->x * a + g->y * b) + g->z * c;
}

struct Closest {
    whole face;  // -1: none within reach
    double square;
};

DEVICE void weigh(const Solid *m, vec p, whole f, Closest *best) {
    vec g, d = p - closest(m, p, f, &g);
    double square = dot(d, d);
    if (square < best->square || (square == best->square && (best->face < 0 || f < best->face))) {
        best->square = square;
        best->face = f;
    }
}

DEVICE double from_box(vec p, const double *box) {
    double x = more(0.0, more(box[0] - p.x, p.x - box[3]));
    double y = more(0.0, more(box[1] - p.y, p.y - box[4]));
    double z = more(0.0, more(box[2] - p.z, p.z - box[5]));
    return (x * x + y * y) + z * z;
}

// the closest triangle within a squared reach
DEVICE Closest searched(const Solid *m, vec p, double square) {
    unsigned stack[STACK];
    double away[STACK];
    Closest best = {-1, square};
    int depth = 1;
    stack[0] = 1;
    away[0] = from_box(p, m->boxes + 6);
    while (depth) {
        const whole k = stack[--depth];
        if (away[depth] > SLACK * best.square) continue;
        if (k >= m->width) {
            const whole first = LEAF * (k - m->width);
            for (whole f = first; f < first + LEAF && f < m->count; ++f) weigh(m, p, f, &best);
            continue;
        }
        const double a = from_box(p, m->boxes + 12 * k), b = from_box(p, m->boxes + 12 * k + 6);
        const bool turned = b < a;  // the nearer one first
        for (int turn = 0; turn < 2; ++turn) {
            const bool second = (turn == 0) != turned;
            if ((second ? b : a) <= SLACK * best.square) {
                stack[depth] = 2 * k + second;
                away[depth++] = second ? b : a;
            }
        }
    }
    return best;
}

// writes the triangles within a squared reach, as many as there is room for; returns how many
DEVICE int listed_within(const Solid *m, vec p, double square, unsigned *listed) {
    unsigned stack[STACK];
    int depth = 1, found = 0;
    stack[0] = 1;
    while (depth && found <= LISTED) {
        const whole k = stack[--depth];
        if (from_box(p, m->boxes + 6 * k) > SLACK * square) continue;
        if (k < m->width) {
            stack[depth++] = 2 * k + 1;
            stack[depth++] = 2 * k;
            continue;
        }
        const whole first = LEAF * (k - m->width);
        for (whole f = first; f < first + LEAF && f < m->count && found <= LISTED; ++f) {
            vec g, d = p - closest(m, p, f, &g);
            if (dot(d, d) > SLACK * square) continue;
            if (found < LISTED) listed[found] = f;
            ++found;
        }
    }
    return found;
}

DEVICE vec pseudonormal(const Solid *m, whole f, vec g) {
    const int zero0 = g.x < SNAP, zero1 = g.y < SNAP, zero2 = g.z < SNAP, zeros = zero0 + zero1 + zero2;
    if (zeros == 0) return corner_of(m->flat, f);
    if (zeros == 1) return corner_of(m->side + 9 * f, zero0 ? 0 : (zero1 ? 1 : 2));
    return corner_of(m->point, m->faces[3 * f + (!zero0 ? 0 : (!zero1 ? 1 : 2))]);
}

// signed distance of p, whose closest triangle is f; the outward normal there, and the point
DEVICE double signed_distance(const Solid *m, vec p, whole f, vec *normal, vec *at) {
    vec g;
    *at = closest(m, p, f, &g);
    vec d = p - *at, n = pseudonormal(m, f, g);
    double length = sqrt(dot(d, d)), sign = dot(d, n) < 0.0 ? -1.0 : 1.0;
    if (length > COINCIDING * sqrt(dot(*at, *at))) {
        *normal = (sign / length) * d;
    } else {
        double size = sqrt(dot(n, n));
        if (size < CANCELLED) {
            n = corner_of(m->flat, f);
            size = 1.0;
        }
        *normal = (1.0 / size) * n;
    }
    return sign * length;
}

// bounds of the signed distance of p, without a search: surely no less than; its size no more than
DEVICE double least_distance(const Solid *m, vec p, double *most) {
    const double at[3] = {p.x, p.y, p.z};
    double outside = 0.0, off = 0.0;
    whole cell = 0;
    for (int k = 0; k < 3; ++k) {
        double out = more(0.0, more(m->low[k] - at[k], at[k] - m->high[k]));
        outside += out * out;
        whole i = (whole)fewer(more(0.0, (at[k] - m->low[k]) / m->cell), m->cells[k] - 1.0);
        double d = at[k] - (m->low[k] + m->cell * (i + 0.5));
        off += d * d;
        cell = cell * m->cells[k] + i;
    }
    const double middle = m->middles[cell], way = sqrt(off) + 1e-9 * m->cell;
    *most = fabs(middle) + way;
    const double least = middle - way;
    return outside > 0.0 ? more(least, (1.0 - 1e-9) * sqrt(outside)) : least;
}

// ------------------------------------------------------------------ where the mesh is

struct Turn {
    vec x, y, z;  // columns
};

// of the quaternion (w, x, y, z) that a surface's first numbers are
DEVICE Turn turn_of(const double *q) {
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    Turn r = {
        make(1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)),
        make(2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)),
        make(2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y))
    };
    return r;
}
DEVICE vec turned(const Turn &t, vec a) { return (a.x * t.x + a.y * t.y) + a.z * t.z; }
DEVICE vec turned_back(const Turn &t, vec a) { return make(dot(t.x, a), dot(t.y, a), dot(t.z, a)); }

// A shape at a row: its signed distance, infinite where it is surely not below the margin, and there
// its outward normal.
struct Met {
    double d;
    vec n;
};

SEPARATE Met mesh_met(const Solid *m, whole i, const double *q, vec p, double margin) {
    Met r = {ENDLESS, make(0.0, 0.0, 0.0)};
    const Turn turn = turn_of(q);
    const vec origin = make(q[7], q[8], q[9]), home = turned_back(turn, p - origin);
    const double *known = m->memory + MEMORY * i;
    const vec gone = home - make(known[0], known[1], known[2]);
    const double way = sqrt(dot(gone, gone));
    if (known[LEAST] - way > margin) return r;
    Closest best = {-1, ENDLESS};
    if (way <= known[REACHES]) {
        const unsigned *listed = m->listed + LISTED * i;
        for (int k = 0; k < (int)known[COUNTED]; ++k) weigh(m, home, listed[k], &best);
    } else {
        double most;
        if (least_distance(m, home, &most) > margin) return r;
        most = fewer(most, known[MOST] + way);
        best = searched(m, home, SLACK * most * most);
    }
    if (best.face < 0) return r;  // of what is no number
    vec n, at;
    r.d = signed_distance(m, home, best.face, &n, &at);
    r.n = turned(turn, n);
    r.d = dot(r.n, p - (turned(turn, at) + origin));
    return r;
}

DEVICE void forget(const Solid *m, whole i) {
    double *known = m->memory + MEMORY * i;
    for (int k = 0; k < 3; ++k) known[k] = 0.0;
    known[LEAST] = -ENDLESS;
    known[MOST] = ENDLESS;
    known[REACHES] = -1.0;
}

// what a row at p remembers of a mesh that it may come near to on a way of this length
DEVICE void remember(const Solid *m, whole i, const double *q, vec p, double margin, double way) {
    double *known = m->memory + MEMORY * i, most;
    const vec home = turned_back(turn_of(q), p - make(q[7], q[8], q[9]));
    known[0] = home.x;
    known[1] = home.y;
    known[2] = home.z;
    known[LEAST] = least_distance(m, home, &most);
    known[MOST] = most;
    known[REACHES] = -1.0;
    if (!(known[LEAST] <= margin + way)) return;
    const Closest best = searched(m, home, SLACK * most * most);
    if (best.face < 0) return;
    vec n, at;
    const double d = signed_distance(m, home, best.face, &n, &at);
    const double rounding = 1e-12 * (fabs(d) + sqrt(dot(home, home)));
    known[LEAST] = d - rounding;
    known[MOST] = fabs(d) + rounding;
    if (d > margin + way) return;
    const double reach = fabs(d) + 2.0 * way + rounding;
    const int found = listed_within(m, home, reach * reach, m->listed + LISTED * i);
    known[COUNTED] = found;
    if (found <= LISTED) known[REACHES] = way;
}
