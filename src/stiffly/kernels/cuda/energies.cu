// Energies of a body where it is: each row has its lines, which are added in the order of rows.

#define LINES 11
enum { KINETIC, LINEAR, CUBIC, FACES, TETS, TOUCHED, FIELD, TIED, STEADY, ATOMS, FINITE };

// each end of a spring has half of it
DEVICE double springs_stored(
    const Springs *s, bool cubic, whole i, int lane, const double *x
) {
    double sum = 0.0;
    vec here = load(x, i);
    for (ENTRIES(p, s->rows)) {
        const Far far = far_end(s, p);
        vec d = here - load(x, far.row);
        sum += 0.5 * spring_energy(sqrt(dot(d, d)), far.stiffness, s->rest[p], cubic);
    }
    return sum;
}

// of the springs from this corner to the opposite faces
DEVICE double faces_stored(const Body *b, whole i, int lane, const double *x) {
    double sum = 0.0;
    for (ENTRIES(p, b->faces)) {
        unsigned t = b->faces.other[p] / 4, mine = b->faces.other[p] % 4;
        if (t >= b->any_face) continue;
        vec all = make(0.0, 0.0, 0.0), here = load(x, i);
        for (int k = 0; k < 4; ++k) all = all + load(x, b->face_corners[4 * t + k]);
        vec d = here - (1.0 / 3.0) * (all - here);
        double L = sqrt(dot(d, d));
        sum += spring_energy(L, b->face_stiffness[t], b->face_rest[4 * t + mine], false);
    }
    return sum;
}

// formulas of kernels/materials in D = S - 1, F = R S: small strains do not cancel
DEVICE double tet_energy(whole material, double mu, double lam, const mat<double> &F) {
    mat<double> R = rotation(F), D = product(turned(R), combine(1.0, F, -1.0, R));
    mat<double> G = combine(2.0, D, 1.0, product(D, D));
    double small = D.m[0][0] + D.m[1][1] + D.m[2][2], square = inner(D, D);
    double trace = G.m[0][0] + G.m[1][1] + G.m[2][2];
    if (material == STVK) return 0.25 * mu * inner(G, G) + 0.125 * lam * trace * trace;
    if (material == NEO_HOOKEAN) {
        double minors = 0.5 * (small * small - square);
        double growth = small + minors + determinant(D, cofactor(D));
        double shear = 0.5 * (trace - log1p(0.25 * trace)) - 0.75 * growth;
        return mu * shear + 0.5 * lam * growth * growth;
    }
    return mu * square + 0.5 * lam * small * small;
}

// each corner has a quarter
DEVICE double tets_stored(const Body *b, whole i, int lane, const double *x) {
    double sum = 0.0;
    for (ENTRIES(p, b->tets)) {
        unsigned t = b->tets.other[p] / 4;
        if (t >= b->any_tet) continue;
        const real *moduli = b->tet_moduli + 2 * t;
        const auto F = deformation<double>(x, b->tet_corners + 4 * t, b->tet_shape + 9 * t);
        sum += 0.25 * tet_energy(b->tet_material[t], moduli[0], moduli[1], F);
    }
    return sum;
}

// each end of a pair has half of it
DEVICE double steadily_stored(const Body *b, whole i, int lane, const double *x) {
    double stretching = 0.0;
    steady_forces(b, i, lane, x, &stretching);
    return 0.25 * stretching;
}

// in shapes that stand at their places numbered `place`
DEVICE double touch_stored(const Body *b, whole i, whole place, vec at) {
    double sum = 0.0;
    for (whole c = 0; c < b->touches; ++c) {
        double k = b->touch[c * b->rows + i];
        if (k == 0.0) continue;
        double s = meet(b, i, c, place, at).d - b->margin[c];
        if (s < 0.0) sum += 0.5 * k * s * s;
    }
    return sum;
}

// [J] of a row at x: of springs of both laws and face springs; of tets, steady springs and atoms: a
// lane's share
DEVICE vec springs_of_row(const Body *b, whole i, int lane, const double *x) {
    return make(
        HAS_LINEAR ? springs_stored(&b->linear, false, i, lane, x) : 0.0,
        HAS_CUBIC ? springs_stored(&b->cubic, true, i, lane, x) : 0.0,
        HAS_FACES ? faces_stored(b, i, lane, x) : 0.0
    );
}
DEVICE vec solid_of_row(const Body *b, whole i, int lane, const double *x) {
    return make(
        HAS_TETS ? tets_stored(b, i, lane, x) : 0.0,
        HAS_STEADY ? steadily_stored(b, i, lane, x) : 0.0,
        HAS_ATOMS ? with_others<true>(&b->atoms, i, b->rows - 1, lane, x).x : 0.0
    );
}

// of what acts on a row alone: shapes, fields, ties
DEVICE vec stored_alone(const Body *b, whole i, whole place, vec at) {
    vec r = make(0.0, 0.0, 0.0);
    if (i >= b->own) return r;
    if (HAS_TOUCHES) r.x = touch_stored(b, i, place, at);
    r.y = -b->mass[i] * dot(field_of(b, i), at);
    if (HAS_TIES) r.z = tie_stored(b, i, place, at);
    if (HAS_BETWEEN) r.z += held_stored(b, i, at);
    return r;
}

KERNEL energies(double *lines) {
    BODY EACH_ROW_BY_LANES(i, b->rows - 1) {
        vec OF_LANES(springs, springs_of_row(b, i, lane, b->x))
        vec OF_LANES(solid, solid_of_row(b, i, lane, b->x))
        FIRST_LANE {
            double *own = lines + LINES * i;
            bool moves = i < b->own;
            vec v = load(b->v, i), alone = stored_alone(b, i, *b->done, load(b->x, i));
            own[KINETIC] = moves ? 0.5 * b->mass[i] * dot(v, v) : 0.0;
            own[LINEAR] = springs.x;
            own[CUBIC] = springs.y;
            own[FACES] = springs.z;
            own[TETS] = solid.x;
            own[TOUCHED] = alone.x;
            own[FIELD] = alone.y;
            own[TIED] = alone.z;
            own[STEADY] = solid.y;
            own[ATOMS] = solid.z;
            own[FINITE] = moves ? dot(load(b->x, i), v) : 0.0;  // which sees every one that is not
        }
    }
}

// of every SUMS-th row
KERNEL add_lines(const double *lines, double *sums) {
    BODY EACH_ROW(i, SUMS) {
        for (int k = 0; k < LINES; ++k) {
            double sum = 0.0;
            for (whole j = i; j < b->rows - 1; j += SUMS) sum += lines[LINES * j + k];
            sums[LINES * i + k] = sum;
        }
    }
}

// what SUMS threads found, for each number by LAST others: ledgers, then lines
KERNEL add_up(const double *books, const double *lines, double *out) {
    EACH_ROW(n, LAST * (BOOKS + LINES)) {
        const whole begin = n / (BOOKS + LINES), k = n % (BOOKS + LINES);
        double own = 0.0;
        for (whole j = begin; j < SUMS; j += LAST) {
            const double a = k < BOOKS ? books[BOOKS * j + k] : lines[LINES * j + k - BOOKS];
            own = k == DEEPEST ? more(own, a) : own + a;
        }
        out[n] = own;
    }
}
