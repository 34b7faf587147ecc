// A body as kernels see it.
//
// Rows are (x, y, z, 0): first those that move, then those that supports lead, then held ones, and
// a last one at which springs pull that only fill a slice.  A row gathers from its neighbours, so
// that nothing is added by two threads at once and every run has the same bits; an element between
// two rows is computed by both.  Each row keeps its own ledger, summed at the end.

// All fields have eight bytes: layout.py and stretch.py fill them in this order.

// HAS_PALETTE: stiffnesses are few, and the highest byte of a far end says which
struct Springs {
    Slices rows;
    const real *stiffness;
    extent *rest;
    const double *limit, *share;  // limit: null where none yields
    double common;                // the limit of all, < 0 where they differ
    whole any;
};

// shapes that stand still and act between two steps: see Sides of names.py.  told (rows, TOLD): what
// is known of each row, and at last whether they act on it
#define TOLD 8
enum { HOLDER = 3, DEPTH, PUT_BACK, FELT };
struct Sides {
    whole count;
    const whole *kind;
    const double *numbers;
    double margin, stiffness, friction;
    double *told;
};

// pairs whose blocks never change: entry p of block number k of nine at blocks[k * entries + p]
struct Pairs {
    Slices rows;
    const real *blocks;
    whole entries;
};

struct Body {
    whole rows, own, led;  // ends of all, of those that move, of those that are led
    const unsigned *place;
    const whole *support;
    const double *home, *inverse, *mass;
    Springs linear, cubic;
    Slices faces;  // 4 tet + corner; corners (m, 4), stiffness (m,), rest (m, 4)
    const unsigned *face_corners;
    const real *face_stiffness, *face_rest;
    whole any_face;
    Slices tets;  // 4 tet + corner; corners (m, 4), shape (m, 9), moduli (m, 2), material (m,)
    const unsigned *tet_corners;
    const real *tet_shape, *tet_moduli;
    const whole *tet_material;
    whole any_tet;
    Slices triangles;  // 4 triangle + corner; corners (m, 3)
    const unsigned *corners;
    const double *pressure;
    const whole *which;
    whole any_triangle;
    Slices dashpots;
    const double *coefficient;
    whole any_dashpot;
    whole drags;
    const double *drag;
    const whole *drag_power, *drag_wind;
    whole forces;
    const double *weights;
    whole touches;
    const double *touch, *margin, *friction;
    const whole *kind, *moving;
    const struct Crowd *crowd;    // see crowd.cu
    const struct Solid *solids;  // (touches,): those that are meshes; see mesh.cu
    double gx, gy, gz, alpha;
    const double *fields;  // (runs, 4): the same for each of many runs; which one a row belongs to
    const unsigned *run;
    whole powers, local;  // the ledger has work to sum; no row's loads know of another's velocity
    // bodies that fit a block: where their rows begin that move, those that are led, and the list of
    // held ones that these see
    const whole *blocks, *block_led, *block_seen;
    const unsigned *seen;
    whole any_block;
    Pairs steady;  // springs that are linear about rest (rows, 4)
    const double *rest;
    Pairs viscous;
    // the state, the ledger of each row, and the steps that are done
    double *x, *v, *a, *ahead, *x0, *v0, *y, *books, *power;  // y: see `leap`
    whole *done;
    double *pushed;  // what guests push each row with, see `push`
    Atoms atoms;
    // what depends on time
    const double *supports, *surfaces, *winds, *given, *leads;
    whole entries, places;
    // springs of length zero to points: of row i those from ties[i] on; see Ties of names.py
    const unsigned *ties;
    const double *tied, *here, *home_of_tie;
    const whole *motion;
    // the method: kicks and drifts [s], or the stages of a Nystrom method: c, Abar, A and their
    // accelerations.  Entries of the tables: of the first stage, and of the middle of a step
    double kick[MOST_STAGES + 1], drift[MOST_STAGES + 1];
    const double *c, *Abar, *A;
    whole stages, first, half;
    double h;
    double *staged;  // (stages, rows, 4); null where there are kicks
    // bodies whose momentum is damped: see Momentum of names.py; sums of chunks (chunks, SUMMED)
    const unsigned *by_body;
    const whole *chunk, *chunk_body, *chunks_of;
    const double *body_mass;
    double *chunk_sums;
    whole chunks;
    Sides held, projected;
    // whether something has been put elsewhere, by what acts now or in this step; energies that this
    // has taken [J], of each row, and in all: dissipated, and invented
    whole *marks;
    double *lost, *settled;
    double share;
};

#ifndef SHIM
__constant__
#endif
    Body body;
#define BODY const Body *b = &body;

// entries of the tables: the end of drift s, or stage s, of step n; its middle; its end
DEVICE whole entry_of(const Body *b, whole n, whole s) {
    return b->first + n * (b->stages + 1) + s;
}
DEVICE whole middle_of(const Body *b, whole n) { return b->half + n * (b->stages + 1); }
DEVICE whole end_of(const Body *b, whole n) { return (n + 1) * (b->stages + 1); }

// acceleration of all particles, and damping: of the run that a row belongs to
DEVICE vec field_of(const Body *b, whole i) {
    return HAS_FIELDS ? load(b->fields, b->run[i]) : make(b->gx, b->gy, b->gz);
}
DEVICE double alpha_of(const Body *b, whole i) {
    return HAS_FIELDS ? b->fields[4 * b->run[i] + 3] : b->alpha;
}
