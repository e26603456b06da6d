// Threads that share one call: a barrier that spins, and a pool to run them in.
#pragma once

#include <atomic>
#include <cstdint>

#include "call.hpp"

namespace anygru {

// All members wait for one another. They spin for some microseconds, then let others run.
class alignas(64) Barrier {
public:
    void set_members(int members) { members_ = members; }
    void wait();

private:
    std::atomic<std::uint32_t> arrived_{0};
    int members_ = 1;
    alignas(64) std::atomic<std::uint32_t> round_{0};
};

// A count that one thread raises and another waits for.
class alignas(64) Progress {
public:
    void reset() { count_.store(0, std::memory_order_relaxed); }
    void raise() { count_.fetch_add(1, std::memory_order_release); }
    void wait_for(Index count);

private:
    std::atomic<Index> count_{0};
};

// Runs work(data, thread) for each thread 0 .. threads - 1, the caller being one of them, and returns when all are
// done. Prefers the OpenMP pool that PyTorch itself uses, so that the two never compete for a core.
void run_threads(int threads, void (*work)(void*, int), void* data);

// Whether other programs have our cores, so that threads which wait for one another would mostly wait. It is concluded
// from waits at barriers and tried again after 100 milliseconds, later up to some seconds.
bool crowded();

// What two threads that are awake pay on this machine, in nanoseconds.
struct ThreadCosts {
    double region;    // to begin and to end a call together
    double exchange;  // to wait for each other and to read what the other has written
};

// Measured again after a second, in a fifth of a millisecond: a virtual machine's cores move on the host, and both costs
// then change threefold.
ThreadCosts thread_costs();

// "openmp" or "own": which pool run_threads uses.
const char* thread_pool();

// Notes which process may borrow. A forked child has the runtime of an OpenMP library but not its threads, so it must not
// borrow it. `process` is the one that imported the package, which may be long before the module is loaded.
void remember_process(int process);

// As many of the threads as the system lets run; at least 1.
int ready_threads(int threads);

}  // namespace anygru
