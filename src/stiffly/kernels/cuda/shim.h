// The kernels as plain C++: threads are turns of a loop.  For tests where there is no card.
#define SHIM
#include <cmath>
#include <vector>
using std::copysign;
using std::fabs;
using std::floor;
using std::hypot;
using std::log1p;
using std::sqrt;
static inline unsigned atomicAdd(unsigned *sum, unsigned more) {
    const unsigned old = *sum;
    *sum += more;
    return old;
}
static inline double rsqrt(double a) { return 1.0 / sqrt(a); }
#define DEVICE static inline
#define SEPARATE static
#define BLOCK_KERNEL KERNEL
#define LEAN_KERNEL KERNEL
#define WIDE_KERNEL KERNEL
#define KERNEL extern "C" void
#define EACH_ROW(i, count) for (long long i = 0; i < (count); ++i)
#define EACH_ROW_BY_LANES(i, count) for (long long i = 0; i < (count); ++i)
#define OF_LANES(sum, part)                                                                        \
    sum = {};                                                                                      \
    for (int lane = 0; lane < LANES; ++lane) sum = sum + part;
#define ALL_LANES(sum)
#define FIRST_LANE
#define ROWS static std::vector<Own> rows(MOST_ROWS);
#define MINE rows[i - o.from]
#define EACH_BLOCK(k, count) for (long long k = 0; k < (count); ++k)
#define EACH_OWN(i, from, to) for (long long i = (from); i < (to); ++i)
#define EACH_OF(i, from, to) EACH_OWN(i, from, to)
#define EACH_OF_BY_LANES(i, from, to) EACH_OWN(i, from, to)
#define EACH_PAIR_BY_LANES(i, late, from, to)                                                      \
    for (long long i = (from); i < (to); ++i)                                                      \
        for (vec early = {}, *done = nullptr; !done; done = &early)                                \
            for (bool late : {false, true})
#define OF_PAIR(half, now, late, mine)                                                             \
    const vec half = early, now = mine;                                                            \
    early = mine;
#define FIRST_OF_PAIR if (late)
#define SHARED(room)                                                                               \
    static std::vector<double> kept_room(MOST_ROOM / 8);                                           \
    double *room = kept_room.data();
#define WAIT
#define MOST_ROWS 1024
#define MOST_ROOM 232448
