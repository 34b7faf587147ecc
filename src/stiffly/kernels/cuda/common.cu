// What all kernels share: threads, what a body has, vectors.
//
// The texts of this folder are one, in the order of `TEXTS` in stretch.py.  It is C++ where SHIM is
// defined (shim.h): threads are then turns of a loop.

#ifndef SHIM
#define DEVICE __device__ __forceinline__
#define SEPARATE __device__ __noinline__  // long, and called from several places
#define KERNEL extern "C" __global__ void
#define THREAD ((long long)blockIdx.x * blockDim.x + threadIdx.x)
#define EACH_ROW(i, count)                                                                         \
    const long long i = THREAD;                                                                    \
    if (i < (count))
// all lanes of a row go through it, and the first one stores what they found
#define EACH_ROW_BY_LANES(i, count)                                                                \
    const long long i = THREAD / LANES;                                                            \
    const int lane = THREAD % LANES;                                                               \
    if (i < (count))
#define ALL_LANES(sum)                                                                             \
    for (int hop = LANES / 2; hop; hop /= 2) sum = sum + shuffled(sum, hop);
#define OF_LANES(sum, part)                                                                        \
    sum = part;                                                                                    \
    ALL_LANES(sum)
#define FIRST_LANE if (lane == 0)
// in a block of THREADS whose rows have LANES of them each, for as long as it lasts; so many blocks
// lie on a multiprocessor at once, which bounds the registers of a thread
#ifndef THREADS
#define THREADS 512
#endif
#ifndef RESIDENT
#define RESIDENT (THREADS < 512 ? 512 / THREADS : 1)
#endif
#define BLOCK_KERNEL extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
// of one block with as many threads as there can be
#define WIDE_KERNEL extern "C" __global__ void __launch_bounds__(1024)
// of blocks of 128 threads, eight on a multiprocessor at once: what waits for memory has to be many
#define LEAN_KERNEL extern "C" __global__ void __launch_bounds__(128, LEAN)
#ifndef LEAN
#define LEAN (HAS_TETS || HAS_FACES ? 1 : 8)
#endif
#define ROWS Own mine;
#define MINE mine
#define EACH_BLOCK(k, count)                                                                       \
    const long long k = blockIdx.x;                                                                \
    const int lane = threadIdx.x % LANES;                                                          \
    if (k < (count))
#define EACH_OWN(i, from, to)                                                                      \
    if (const long long i = (from) + threadIdx.x / LANES; i < (to))
// a few for all threads of a block; in each block another warp begins, so that each part of a
// multiprocessor has as much to do
#define TURNED ((threadIdx.x + 32 * blockIdx.x) % blockDim.x)
#define EACH_OF(i, from, to) for (long long i = (from) + TURNED; i < (to); i += blockDim.x)
#define EACH_OF_BY_LANES(i, from, to)                                                              \
    for (long long i = (from) + TURNED / LANES; i < (to); i += blockDim.x / LANES)
// two jobs for each i side by side, of which `late` is the second
#define EACH_PAIR_BY_LANES(i, late, from, to)                                                      \
    for (long long job = TURNED / LANES; job < 2 * ((to) - (from)); job += blockDim.x / LANES)     \
        if (const long long i = (from) + job / 2; true)                                            \
            if (const bool late = job % 2; true)
#define OF_PAIR(half, now, late, mine)                                                             \
    const vec half = mine, now = other_of_pair(mine);
#define FIRST_OF_PAIR if (lane == 0 && job % 2 == 0)
#define SHARED(room) extern __shared__ double room[];
#define WAIT __syncthreads();
#endif

typedef long long whole;

// What a launch reads once.  PASSING: it leaves the caches to what is read again, which pays where
// they cannot hold all.
#if defined(PASSING) && !defined(SHIM)
template <class T> DEVICE T once(const T *p) { return __ldcs(p); }
#else
template <class T> DEVICE T once(const T *p) { return *p; }
#endif

// MIXED: elements and their tables are computed in single precision, which some cards are many times
// faster at.  Positions, differences of positions and sums are not.
#ifdef MIXED
typedef float real;
#define ROUGH 1e-6f  // of a length: surely more than single precision errs in it
#else
typedef double real;
#define ROUGH 0.0
#endif

// What a body has: code for what it has not would only take registers.
#ifndef HAS
#define HAS 8388607
#endif
#define HAS_LINEAR (HAS & 1)
#define HAS_CUBIC (HAS & 2)
#define HAS_FACES (HAS & 4)
#define HAS_TRIANGLES (HAS & 8)
#define HAS_DASHPOTS (HAS & 16)
#define HAS_TOUCHES (HAS & 32)
#define HAS_POWERS (HAS & 64)
#define HAS_YIELDS (HAS & 128)
#define HAS_COROTATED (HAS & 256)
#define HAS_STVK (HAS & 512)
#define HAS_NEO_HOOKEAN (HAS & 1024)
#define HAS_FIELDS (HAS & 2048)
#define HAS_PALETTE (HAS & 4096)  // springs of few different stiffnesses
#define HAS_HALVES (HAS & 8192)   // half balls among the shapes
#define HAS_LOADS (HAS & 16384)   // drag or forces of time
#define HAS_TIES (HAS & 32768)
#define HAS_BETWEEN (HAS & 65536)  // what acts between two steps
#define HAS_STEADY (HAS & 131072)
#define HAS_VISCOUS (HAS & 262144)
#define HAS_MESHES (HAS & 524288)   // among the shapes
#define HAS_GUESTS (HAS & 1048576)  // forces that the host computes
#define HAS_ATOMS (HAS & 2097152)
#define HAS_CROWD (HAS & 4194304)  // bodies touch each other
#if defined(MIXED) && !HAS_YIELDS
typedef float extent;  // a rest length
#else
typedef double extent;  // also of those that change
#endif
#define HAS_TETS (HAS_COROTATED | HAS_STVK | HAS_NEO_HOOKEAN)

#define SLICE (32 / LANES)  // rows whose entries lie side by side: a warp reads them at once
#define ENDLESS 1e300            // farther than anything
#define TINY 1e-300               // the square of a length that is taken for zero
#define ROUNDING (1.0 + 1e-12)    // as in kernels/cpu/springs.py
#define NEARLY (1.0 - 1e-9)       // times a limit: surely within it
#define BEYOND (1.0 + 1e-6)       // times a reach: surely out of it
enum { PLANE, SPHERE, HEMISPHERE, MESH };  // as kernels number shapes
#define SUMS 4096  // threads that add up rows; LAST: that add up what these found
#define LAST 128
#define BOOKS 4
#define LEAF 4  // triangles of a leaf, as in kernels/names.py
#define MOST_STAGES 15  // of a method of kicks and drifts
enum { ADDED, DISSIPATED, DEEPEST, TOUCHING };
enum { NOW, THIS_STEP };  // marks of what acts between steps

// slices of rows: entry e of row i at start[i / SLICE] + 32 (e / LANES) + LANES (i % SLICE) +
// e % LANES; far ends, or elements
struct Slices {
    const whole *start;
    const unsigned *other;
};

// of a row and a lane: where its entries begin, and where the slice ends
#define ENTRIES(p, slices)                                                                         \
    whole p = (slices).start[i / SLICE] + LANES * (i % SLICE) + lane,                              \
          end = (slices).start[i / SLICE + 1];                                                     \
    p < end;                                                                                       \
    p += 32

template <class T> struct Vec {
    T x, y, z;
};
typedef Vec<double> vec;

template <class T> DEVICE Vec<T> vec_of(T x, T y, T z) {
    Vec<T> r = {x, y, z};
    return r;
}
DEVICE vec make(double x, double y, double z) { return vec_of(x, y, z); }
template <class T> DEVICE Vec<T> operator+(Vec<T> a, Vec<T> b) {
    return vec_of(a.x + b.x, a.y + b.y, a.z + b.z);
}
template <class T> DEVICE Vec<T> operator-(Vec<T> a, Vec<T> b) {
    return vec_of(a.x - b.x, a.y - b.y, a.z - b.z);
}
template <class S, class T> DEVICE Vec<T> operator*(S scale, Vec<T> a) {
    const T s = scale;
    return vec_of(s * a.x, s * a.y, s * a.z);
}
template <class T> DEVICE T dot(Vec<T> a, Vec<T> b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
template <class T> DEVICE Vec<T> cross(Vec<T> a, Vec<T> b) {
    return vec_of(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
DEVICE Vec<real> rounded(vec a) { return vec_of(real(a.x), real(a.y), real(a.z)); }
template <class T> DEVICE vec widened(Vec<T> a) { return make(a.x, a.y, a.z); }
#ifdef SHIM
DEVICE vec load(const double *p, whole i) { return make(p[4 * i], p[4 * i + 1], p[4 * i + 2]); }
DEVICE void store(double *p, whole i, vec a) {
    p[4 * i] = a.x;
    p[4 * i + 1] = a.y;
    p[4 * i + 2] = a.z;
}
#else
// two words at once: rows are aligned
DEVICE vec load(const double *p, whole i) {
    double2 low = *(const double2 *)(p + 4 * i);
    return make(low.x, low.y, p[4 * i + 2]);
}
DEVICE void store(double *p, whole i, vec a) {
    *(double2 *)(p + 4 * i) = make_double2(a.x, a.y);
    *(double2 *)(p + 4 * i + 2) = make_double2(a.z, 0.0);  // whole sectors are written at once
}
#endif

#ifndef SHIM
// wherever the others of the warp are
DEVICE unsigned lanes_of_row() {
    return (0xffffffffu >> (32 - LANES)) << (threadIdx.x % 32 / LANES * LANES);
}
DEVICE vec shuffled(vec a, int hop) {
    const unsigned own = lanes_of_row();
    return make(
        __shfl_xor_sync(own, a.x, hop), __shfl_xor_sync(own, a.y, hop),
        __shfl_xor_sync(own, a.z, hop)
    );
}
// of two rows side by side the other one's
DEVICE vec other_of_pair(vec a) {
    const int lanes = LANES < 32 ? 2 * LANES : 32;  // which blocks have no more than 16 of
    const unsigned both = (0xffffffffu >> (32 - lanes)) << (threadIdx.x % 32 / lanes * lanes);
    return make(
        __shfl_xor_sync(both, a.x, LANES), __shfl_xor_sync(both, a.y, LANES),
        __shfl_xor_sync(both, a.z, LANES)
    );
}
#endif

DEVICE double fewer(double a, double b) { return a < b ? a : b; }
DEVICE double more(double a, double b) { return a > b ? a : b; }
DEVICE float more(float a, float b) { return a > b ? a : b; }
// the same for numbers of this kind
DEVICE double tiny(double) { return TINY; }
DEVICE float tiny(float) { return 1e-36f; }
DEVICE double inverse_root(double a) { return rsqrt(a); }
DEVICE float inverse_root(float a) {
#ifdef SHIM
    return 1.0f / std::sqrt(a);
#else
    return rsqrtf(a);
#endif
}
