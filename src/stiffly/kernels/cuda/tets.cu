// Linear tetrahedra on a card: deformation gradients and stresses of the three materials of
// kernels/materials, as formulas of numbers.

enum { COROTATED, STVK, NEO_HOOKEAN };
#define NEWTON_STEPS 6  // for the sum of singular values: as in kernels/materials/corotated.py
#define CERTAIN 1e-16   // as in kernels/cpu/tets.py
#define SWEEPS 10       // of Jacobi's rotations, of which each squares what is left

struct mat {
    double m[3][3];
};

DEVICE mat combine(double s, const mat &a, double t, const mat &b) {
    mat r;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) r.m[i][j] = s * a.m[i][j] + t * b.m[i][j];
    return r;
}

DEVICE mat product(const mat &a, const mat &b) {
    mat r;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            r.m[i][j] = a.m[i][0] * b.m[0][j] + a.m[i][1] * b.m[1][j] + a.m[i][2] * b.m[2][j];
    return r;
}

DEVICE mat turned(const mat &a) {
    mat r;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) r.m[i][j] = a.m[j][i];
    return r;
}

DEVICE double inner(const mat &a, const mat &b) {
    double sum = 0.0;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) sum += a.m[i][j] * b.m[i][j];
    return sum;
}

DEVICE vec row_of(const mat &a, int i) { return make(a.m[i][0], a.m[i][1], a.m[i][2]); }
DEVICE vec column_of(const mat &a, int j) { return make(a.m[0][j], a.m[1][j], a.m[2][j]); }
DEVICE void set_row(mat *a, int i, vec v) {
    a->m[i][0] = v.x;
    a->m[i][1] = v.y;
    a->m[i][2] = v.z;
}

DEVICE mat cofactor(const mat &a) {
    mat r;
    for (int i = 0; i < 3; ++i) set_row(&r, i, cross(row_of(a, (i + 1) % 3), row_of(a, (i + 2) % 3)));
    return r;
}

DEVICE double determinant(const mat &a, const mat &cof) { return dot(row_of(a, 0), row_of(cof, 0)); }

// ------------------------------------------------------------------ rotations

// one of Jacobi's rotations: makes C_pq zero, V follows
DEVICE void turn_in(mat *C, mat *V, int p, int q) {
    double off = C->m[p][q], gap = C->m[q][q] - C->m[p][p];
    if (off == 0.0) return;
    double t = 2.0 * off / (gap + copysign(hypot(gap, 2.0 * off), gap));  // squares would vanish
    double c = 1.0 / sqrt(1.0 + t * t), s = t * c;
    for (int k = 0; k < 3; ++k) {
        double a = C->m[k][p], b = C->m[k][q];
        C->m[k][p] = c * a - s * b;
        C->m[k][q] = s * a + c * b;
    }
    for (int k = 0; k < 3; ++k) {
        double a = C->m[p][k], b = C->m[q][k];
        C->m[p][k] = c * a - s * b;
        C->m[q][k] = s * a + c * b;
        a = V->m[k][p], b = V->m[k][q];
        V->m[k][p] = c * a - s * b;
        V->m[k][q] = s * a + c * b;
    }
    C->m[p][q] = C->m[q][p] = 0.0;
}

// the larger of two eigenvalues first; V stays a rotation
DEVICE void put_in_order(mat *C, mat *V, int p, int q) {
    if (C->m[p][p] >= C->m[q][q]) return;
    double swap = C->m[p][p];
    C->m[p][p] = C->m[q][q];
    C->m[q][q] = swap;
    for (int k = 0; k < 3; ++k) {
        swap = V->m[k][p];
        V->m[k][p] = V->m[k][q];
        V->m[k][q] = -swap;
    }
}

// right singular vectors of F as columns of a rotation, that of the largest singular value first
DEVICE mat right_vectors(const mat &F) {
    mat C = product(turned(F), F), V = {{{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}}};
    for (int sweep = 0; sweep < SWEEPS; ++sweep) {
        turn_in(&C, &V, 0, 1);
        turn_in(&C, &V, 0, 2);
        turn_in(&C, &V, 1, 2);
    }
    put_in_order(&C, &V, 0, 1);
    put_in_order(&C, &V, 1, 2);
    put_in_order(&C, &V, 0, 1);
    return V;
}

DEVICE vec unit(vec a) { return (1.0 / sqrt(dot(a, a))) * a; }

// a direction at right angles to a unit vector
DEVICE vec beside(vec a) {
    double x = fabs(a.x), y = fabs(a.y), z = fabs(a.z);
    vec far = make(x <= y && x <= z, y < x && y <= z, z < x && z < y);
    return unit(far - dot(far, a) * a);
}

DEVICE vec times(const mat &a, vec v) {
    return make(dot(row_of(a, 0), v), dot(row_of(a, 1), v), dot(row_of(a, 2), v));
}

// U V^T of F = U sigma V^T, both rotations: the last singular value has the sign of det F
DEVICE mat rotation(const mat &F) {
    mat V = right_vectors(F), R;
    vec a = times(F, column_of(V, 0)), b = times(F, column_of(V, 1));
    vec first = dot(a, a) > TINY ? unit(a) : make(1.0, 0.0, 0.0);
    b = b - dot(b, first) * first;
    vec second = dot(b, b) > TINY ? unit(b) : beside(first), third = cross(first, second);
    for (int k = 0; k < 3; ++k) {
        vec v = row_of(V, k), own = v.x * first + v.y * second + v.z * third;
        R.m[0][k] = own.x;
        R.m[1][k] = own.y;
        R.m[2][k] = own.z;
    }
    return R;
}

// ------------------------------------------------------------------ materials

DEVICE mat corotated(double mu, double lam, const mat &F) {
    mat cof = cofactor(F);
    double square = inner(F, F), J = determinant(F, cof), area = inner(cof, cof), change = 0.0;
    double s = sqrt(3.0 * square);
    for (int k = 0; k < NEWTON_STEPS; ++k) {
        double q = s * s - square;
        change = (q * q - 8.0 * J * s - 4.0 * area) / (4.0 * s * q - 8.0 * J);
        s -= change;
    }
    double doubt = (change / s) * (change / s);
    if (!(doubt < CERTAIN)) {
        mat R = rotation(F);
        return combine(2.0 * mu, F, lam * (inner(R, F) - 3.0) - 2.0 * mu, R);
    }
    double scale = 1.0 / (s * (s * s - square) - 2.0 * J);
    mat rest = combine(2.0 * s * scale, cof, -2.0 * scale, product(F, product(turned(F), F)));
    mat R = combine((s * s + square) * scale, F, 1.0, rest);
    return combine(2.0 * mu, F, lam * (s - 3.0) - 2.0 * mu, R);
}

DEVICE mat stvk(double mu, double lam, const mat &F) {
    mat C = product(turned(F), F);
    double trace = 0.5 * lam * (C.m[0][0] + C.m[1][1] + C.m[2][2] - 3.0);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) C.m[i][j] = mu * C.m[i][j] + (i == j ? trace - mu : 0.0);
    return product(F, C);
}

DEVICE mat neo_hookean(double mu, double lam, const mat &F) {
    mat cof = cofactor(F);
    double square = inner(F, F), bulk = lam * (determinant(F, cof) - 1.0) - 0.75 * mu;
    return combine(mu * square / (square + 1.0), F, bulk, cof);
}

// ------------------------------------------------------------------ elements

// F = sum of edges and gradients of shape functions, shape (9,); corners: rows, whose places are in x
template <class Places>
DEVICE mat deformation(const Places &x, const unsigned *corners, const double *shape) {
    vec first = load(x, corners[0]);
    mat F = {};
    for (int k = 0; k < 3; ++k) {
        vec edge = load(x, corners[k + 1]) - first;
        for (int j = 0; j < 3; ++j) {
            F.m[0][j] += edge.x * shape[3 * k + j];
            F.m[1][j] += edge.y * shape[3 * k + j];
            F.m[2][j] += edge.z * shape[3 * k + j];
        }
    }
    return F;
}

DEVICE mat stress(whole material, double mu, double lam, const mat &F) {
    if (HAS_STVK && material == STVK) return stvk(mu, lam, F);
    if (HAS_NEO_HOOKEAN && material == NEO_HOOKEAN) return neo_hookean(mu, lam, F);
    if (HAS_COROTATED) return corotated(mu, lam, F);
    return F;
}

// what a tet does to its corner `mine`: -P g, corner 0 balancing the others
DEVICE vec corner_force(const mat &P, const double *shape, int mine) {
    vec g = make(0.0, 0.0, 0.0);
    for (int k = 0; k < 3; ++k) {
        vec own = make(shape[3 * k], shape[3 * k + 1], shape[3 * k + 2]);
        if (mine == 0) g = g + own;
        if (mine == k + 1) g = -1.0 * own;
    }
    return times(P, g);
}
