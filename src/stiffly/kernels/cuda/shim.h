// The kernels as plain C++: threads are turns of a loop.  For tests where there is no card.
#define SHIM
#include <cmath>
using std::copysign;
using std::fabs;
using std::log1p;
using std::sqrt;
#define DEVICE static inline
#define KERNEL extern "C" void
#define EACH_ROW(i, count) for (long long i = 0; i < (count); ++i)
#define EACH_ROW_BY_LANES(i, count) for (long long i = 0; i < (count); ++i)
#define OF_LANES(sum, part)                                                                        \
    sum = {};                                                                                      \
    for (int lane = 0; lane < LANES; ++lane) sum = sum + part;
#define FIRST_LANE
