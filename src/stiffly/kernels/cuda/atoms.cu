// Lennard-Jones forces: kernels/cpu/lennard_jones.py, between all rows.
//
// Without a cutoff a row looks at every other one.  With one, atoms lie sorted by cells, which hold
// as long as nobody has gone farther than half of what cells are wider than the cutoff: then whoever
// sees that says so, and the next launch of `sort_cells` sorts them anew.

struct Atoms {
    const double *radius, *root;  // of each row: sigma / 2, sqrt(epsilon)
    // excluded partners of row i, itself among them: start[i] .. start[i + 1]; and a bit for each of
    // their numbers modulo 64
    const unsigned *start, *partner;
    const whole *marks;
    double cutoff, inner, slope;  // the square of the cutoff, infinite where there is none
    // cells: the inverse of their width; they lie in `side`^3 buckets, a power of two, 0 where there
    // is no cutoff; the square of how far atoms may go
    double per_cell, slack;
    whole side;
    // atoms of bucket c: order[first[c]] .. order[first[c + 1]], by number, and the cell of each;
    // filled: how many of them have been put there; where atoms were, and in which cell
    unsigned *first, *filled, *order;
    whole *cell, *own_cell;
    double *built;
    unsigned *sums;  // (COUNTERS,)
    whole *stale;
};
#define COUNTERS 512  // of all buckets, summed by a thread each
#define FARTHEST 1048575  // cells: 21 bits for each coordinate

DEVICE whole coordinate(double x, double per_cell) {
    const double c = floor(x * per_cell);
    return whole(c < FARTHEST ? (c > -FARTHEST ? c : -FARTHEST) : FARTHEST);
}
DEVICE whole named_cell(whole x, whole y, whole z) {
    return ((x + FARTHEST) << 42) | ((y + FARTHEST) << 21) | (z + FARTHEST);
}
DEVICE whole axis_of(whole cell, int shift) { return ((cell >> shift) & 2097151) - FARTHEST; }
DEVICE whole bucket_of(const Atoms *a, whole cell) {
    const whole most = a->side - 1;
    const whole x = axis_of(cell, 42) & most, y = axis_of(cell, 21) & most;
    return (x * a->side + y) * a->side + (axis_of(cell, 0) & most);
}

// a pair at the square of a distance: half of its energy, or the force on the first of both
template <bool STORED> DEVICE vec pair(const Atoms *a, vec d, double square, double sigma, double e) {
    const double inverse = 1.0 / square, q = sigma * sigma * inverse, p = q * q * q, c = 4.0 * e * p;
    double energy = c * (p - 1.0), rise = c * (3.0 - 6.0 * p) * inverse;
    if (square > a->inner) {
        const double t = fewer(1.0, (square - a->inner) * a->slope), left = 1.0 - t;
        const double S = 1.0 - t * t * t * (10.0 - 15.0 * t + 6.0 * t * t);
        rise = S * rise - 30.0 * t * t * left * left * a->slope * energy;
        energy = S * energy;
    }
    return STORED ? make(0.5 * energy, 0.0, 0.0) : (-2.0 * rise) * d;
}

// whether row j is none of the partners of row i; marks: of i
DEVICE bool meets(const Atoms *a, whole i, whole j, whole marks) {
    if (!((marks >> (j & 63)) & 1)) return true;
    for (unsigned p = a->start[i]; p < a->start[i + 1]; ++p) {
        if (a->partner[p] == (unsigned)j) return false;
    }
    return true;
}

template <bool STORED>
DEVICE vec with_one(const Atoms *a, whole i, whole j, vec here, const double *x, whole marks) {
    const vec d = here - load(x, j);
    const double square = dot(d, d);
    if (square >= a->cutoff || !meets(a, i, j, marks)) return make(0.0, 0.0, 0.0);
    return pair<STORED>(a, d, square, a->radius[i] + a->radius[j], a->root[i] * a->root[j]);
}

// a lane's share of the force on row i, or of its energy
template <bool STORED>
DEVICE vec with_others(const Atoms *a, whole i, whole rows, int lane, const double *x) {
    const vec here = load(x, i);
    const whole marks = a->marks[i];
    vec sum = make(0.0, 0.0, 0.0);
    if (!a->side) {
#pragma unroll 2
        for (whole j = lane; j < rows; j += LANES) {
            sum = sum + with_one<STORED>(a, i, j, here, x, marks);
        }
        return sum;
    }
    const whole own = a->own_cell[i];
    for (whole k = 0; k < 27; ++k) {
        const whole cell = named_cell(
            axis_of(own, 42) + k / 9 - 1, axis_of(own, 21) + k / 3 % 3 - 1, axis_of(own, 0) + k % 3 - 1
        );
        const whole bucket = bucket_of(a, cell);
        for (whole p = a->first[bucket] + lane; p < a->first[bucket + 1]; p += LANES) {
            if (a->cell[p] != cell) continue;
            sum = sum + with_one<STORED>(a, i, a->order[p], here, x, marks);
        }
    }
    return sum;
}

// row i is there now
DEVICE void went(const Atoms *a, whole i, vec x) {
    if (!a->side) return;
    const vec d = x - load(a->built, i);
    if (!(dot(d, d) <= a->slack)) *a->stale = 1;
}

// one block; in each bucket atoms lie by their numbers, so that sums have one order
DEVICE void sort_atoms(const Atoms *a, whole rows, const double *x) {
    if (!a->side || !*a->stale) return;
    const whole buckets = a->side * a->side * a->side, part = (buckets + COUNTERS - 1) / COUNTERS;
    EACH_OF(c, 0, buckets + 1) {
        a->first[c] = 0;
        a->filled[c] = 0;
    }
    WAIT
    EACH_OF(i, 0, rows) {
        const vec p = load(x, i);
        const whole cell = named_cell(
            coordinate(p.x, a->per_cell), coordinate(p.y, a->per_cell), coordinate(p.z, a->per_cell)
        );
        a->own_cell[i] = cell;
        store(a->built, i, p);
        atomicAdd(a->first + bucket_of(a, cell) + 1, 1u);
    }
    WAIT
    EACH_OF(t, 0, COUNTERS) {
        unsigned sum = 0;
        for (whole c = t * part + 1; c <= buckets && c <= (t + 1) * part; ++c) sum += a->first[c];
        a->sums[t] = sum;
    }
    WAIT
    EACH_OF(t, 0, COUNTERS) {
        unsigned sum = 0;
        for (whole s = 0; s < t; ++s) sum += a->sums[s];
        for (whole c = t * part + 1; c <= buckets && c <= (t + 1) * part; ++c) {
            sum += a->first[c];
            a->first[c] = sum;
        }
    }
    WAIT
    EACH_OF(i, 0, rows) {
        const whole bucket = bucket_of(a, a->own_cell[i]);
        a->order[a->first[bucket] + atomicAdd(a->filled + bucket, 1u)] = unsigned(i);
    }
    WAIT
    EACH_OF(c, 0, buckets) {
        const whole from = a->first[c], to = a->first[c + 1];
        for (whole p = from + 1; p < to; ++p) {
            const unsigned i = a->order[p];
            whole q = p;
            for (; q > from && a->order[q - 1] > i; --q) a->order[q] = a->order[q - 1];
            a->order[q] = i;
        }
        for (whole p = from; p < to; ++p) a->cell[p] = a->own_cell[a->order[p]];
    }
    EACH_OF(t, 0, 1) *a->stale = 0;
}
