// Linear tetrahedra on a card: deformation gradients and stresses of the three materials of
// kernels/materials, as formulas of numbers.

enum { COROTATED, STVK, NEO_HOOKEAN };
#define NEWTON_STEPS 6  // for the sum of singular values: as in kernels/materials/corotated.py
#define CERTAIN 1e-16   // as in kernels/cpu/tets.py
#define CERTAIN_ENOUGH 1e-10f  // in single precision
#define SWEEPS 10       // of Jacobi's rotations, of which each squares what is left

template <class T> struct mat {
    T m[3][3];
};

template <class T> DEVICE mat<T> combine(T s, const mat<T> &a, T t, const mat<T> &b) {
    mat<T> r;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) r.m[i][j] = s * a.m[i][j] + t * b.m[i][j];
    return r;
}

template <class T> DEVICE mat<T> product(const mat<T> &a, const mat<T> &b) {
    mat<T> r;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            r.m[i][j] = a.m[i][0] * b.m[0][j] + a.m[i][1] * b.m[1][j] + a.m[i][2] * b.m[2][j];
    return r;
}

template <class T> DEVICE mat<T> turned(const mat<T> &a) {
    mat<T> r;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) r.m[i][j] = a.m[j][i];
    return r;
}

template <class T> DEVICE T inner(const mat<T> &a, const mat<T> &b) {
    T sum = 0;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) sum += a.m[i][j] * b.m[i][j];
    return sum;
}

template <class T> DEVICE Vec<T> row_of(const mat<T> &a, int i) {
    return vec_of(a.m[i][0], a.m[i][1], a.m[i][2]);
}
template <class T> DEVICE Vec<T> column_of(const mat<T> &a, int j) {
    return vec_of(a.m[0][j], a.m[1][j], a.m[2][j]);
}
template <class T> DEVICE void set_row(mat<T> *a, int i, Vec<T> v) {
    a->m[i][0] = v.x;
    a->m[i][1] = v.y;
    a->m[i][2] = v.z;
}

template <class T> DEVICE mat<T> cofactor(const mat<T> &a) {
    mat<T> r;
    for (int i = 0; i < 3; ++i) set_row(&r, i, cross(row_of(a, (i + 1) % 3), row_of(a, (i + 2) % 3)));
    return r;
}

template <class T> DEVICE T determinant(const mat<T> &a, const mat<T> &cof) {
    return dot(row_of(a, 0), row_of(cof, 0));
}

// ------------------------------------------------------------------ rotations

// one of Jacobi's rotations: makes C_pq zero, V follows
template <class T> DEVICE void turn_in(mat<T> *C, mat<T> *V, int p, int q) {
    T off = C->m[p][q], gap = C->m[q][q] - C->m[p][p];
    if (off == T(0)) return;
    T t = T(2) * off / (gap + copysign(hypot(gap, T(2) * off), gap));  // squares would vanish
    T c = T(1) / sqrt(T(1) + t * t), s = t * c;
    for (int k = 0; k < 3; ++k) {
        T a = C->m[k][p], b = C->m[k][q];
        C->m[k][p] = c * a - s * b;
        C->m[k][q] = s * a + c * b;
    }
    for (int k = 0; k < 3; ++k) {
        T a = C->m[p][k], b = C->m[q][k];
        C->m[p][k] = c * a - s * b;
        C->m[q][k] = s * a + c * b;
        a = V->m[k][p], b = V->m[k][q];
        V->m[k][p] = c * a - s * b;
        V->m[k][q] = s * a + c * b;
    }
    C->m[p][q] = C->m[q][p] = T(0);
}

// the larger of two eigenvalues first; V stays a rotation
template <class T> DEVICE void put_in_order(mat<T> *C, mat<T> *V, int p, int q) {
    if (C->m[p][p] >= C->m[q][q]) return;
    T swap = C->m[p][p];
    C->m[p][p] = C->m[q][q];
    C->m[q][q] = swap;
    for (int k = 0; k < 3; ++k) {
        swap = V->m[k][p];
        V->m[k][p] = V->m[k][q];
        V->m[k][q] = -swap;
    }
}

// right singular vectors of F as columns of a rotation, that of the largest singular value first
template <class T> DEVICE mat<T> right_vectors(const mat<T> &F) {
    mat<T> C = product(turned(F), F), V = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
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

template <class T> DEVICE Vec<T> unit(Vec<T> a) { return (T(1) / sqrt(dot(a, a))) * a; }

// a direction at right angles to a unit vector
template <class T> DEVICE Vec<T> beside(Vec<T> a) {
    T x = fabs(a.x), y = fabs(a.y), z = fabs(a.z);
    Vec<T> far = vec_of(T(x <= y && x <= z), T(y < x && y <= z), T(z < x && z < y));
    return unit(far - dot(far, a) * a);
}

template <class T> DEVICE Vec<T> times(const mat<T> &a, Vec<T> v) {
    return vec_of(dot(row_of(a, 0), v), dot(row_of(a, 1), v), dot(row_of(a, 2), v));
}

// U V^T of F = U sigma V^T, both rotations: the last singular value has the sign of det F
template <class T> DEVICE mat<T> rotation(const mat<T> &F) {
    mat<T> V = right_vectors(F), R;
    Vec<T> a = times(F, column_of(V, 0)), b = times(F, column_of(V, 1));
    Vec<T> first = dot(a, a) > tiny(T()) ? unit(a) : vec_of(T(1), T(0), T(0));
    b = b - dot(b, first) * first;
    Vec<T> second = dot(b, b) > tiny(T()) ? unit(b) : beside(first), third = cross(first, second);
    for (int k = 0; k < 3; ++k) {
        Vec<T> v = row_of(V, k), own = v.x * first + v.y * second + v.z * third;
        R.m[0][k] = own.x;
        R.m[1][k] = own.y;
        R.m[2][k] = own.z;
    }
    return R;
}

// ------------------------------------------------------------------ materials

template <class T> DEVICE mat<T> corotated(T mu, T lam, const mat<T> &F) {
    const T two = 2, three = 3;
    mat<T> cof = cofactor(F);
    T square = inner(F, F), J = determinant(F, cof), area = inner(cof, cof), change = 0;
    T s = sqrt(three * square);
    for (int k = 0; k < NEWTON_STEPS; ++k) {
        T q = s * s - square;
        change = (q * q - T(8) * J * s - T(4) * area) / (T(4) * s * q - T(8) * J);
        s -= change;
    }
    T doubt = (change / s) * (change / s);
    if (!(doubt < T(sizeof(T) < 8 ? CERTAIN_ENOUGH : CERTAIN))) {
        mat<T> R = rotation(F);
        return combine(two * mu, F, lam * (inner(R, F) - three) - two * mu, R);
    }
    T scale = T(1) / (s * (s * s - square) - two * J);
    mat<T> rest = combine(two * s * scale, cof, -two * scale, product(F, product(turned(F), F)));
    mat<T> R = combine((s * s + square) * scale, F, T(1), rest);
    return combine(two * mu, F, lam * (s - three) - two * mu, R);
}

template <class T> DEVICE mat<T> stvk(T mu, T lam, const mat<T> &F) {
    mat<T> C = product(turned(F), F);
    T trace = T(0.5) * lam * (C.m[0][0] + C.m[1][1] + C.m[2][2] - T(3));
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) C.m[i][j] = mu * C.m[i][j] + (i == j ? trace - mu : T(0));
    return product(F, C);
}

template <class T> DEVICE mat<T> neo_hookean(T mu, T lam, const mat<T> &F) {
    mat<T> cof = cofactor(F);
    T square = inner(F, F), bulk = lam * (determinant(F, cof) - T(1)) - T(0.75) * mu;
    return combine(mu * square / (square + T(1)), F, bulk, cof);
}

// ------------------------------------------------------------------ elements

// F = sum of edges and gradients of shape functions, shape (9,); corners: rows, whose places are in x
template <class T, class Places>
DEVICE mat<T> deformation(const Places &x, const unsigned *corners, const real *shape) {
    vec first = load(x, corners[0]);
    mat<T> F = {};
    for (int k = 0; k < 3; ++k) {
        vec edge = load(x, corners[k + 1]) - first;
        for (int j = 0; j < 3; ++j) {
            const T own = shape[3 * k + j];
            F.m[0][j] += T(edge.x) * own;
            F.m[1][j] += T(edge.y) * own;
            F.m[2][j] += T(edge.z) * own;
        }
    }
    return F;
}

template <class T> DEVICE mat<T> stress(whole material, T mu, T lam, const mat<T> &F) {
    if (HAS_STVK && material == STVK) return stvk(mu, lam, F);
    if (HAS_NEO_HOOKEAN && material == NEO_HOOKEAN) return neo_hookean(mu, lam, F);
    if (HAS_COROTATED) return corotated(mu, lam, F);
    return F;
}

// what a tet does to its corner `mine`: -P g, corner 0 balancing the others
template <class T> DEVICE Vec<T> corner_force(const mat<T> &P, const real *shape, int mine) {
    Vec<T> g = {};
    for (int k = 0; k < 3; ++k) {
        Vec<T> own = vec_of(shape[3 * k], shape[3 * k + 1], shape[3 * k + 2]);
        if (mine == 0) g = g + own;
        if (mine == k + 1) g = T(-1) * own;
    }
    return times(P, g);
}
