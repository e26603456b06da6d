#include "threads.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>
#endif

namespace anygru {

namespace {

void pause_briefly() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

using Clock = std::chrono::steady_clock;

void call_sleepers();

// What the barriers show about the machine: where long waits take 8 of 100 milliseconds, other programs have our cores.
// One such wait, of a turn of the scheduler, may be the system's, or a neighbour's on the host.
struct Crowd {
    std::atomic<Clock::rep> lost{0};   // in long waits
    std::atomic<Clock::rep> first{0};  // when the first of them was
    std::atomic<Clock::rep> until{0};  // when to try again
    std::atomic<Clock::rep> pause{0};  // how long the last pause was

    void waited(Clock::duration time) {
        if (time < std::chrono::microseconds(300)) return;
        const Clock::rep now = Clock::now().time_since_epoch().count();
        if (now - first.load() > ticks(100)) {
            first.store(now);
            lost.store(0);
        }
        if (lost.fetch_add(time.count()) + time.count() >= ticks(8)) conclude();
    }

    // Calls of small work leave the cores to other programs from now on, for a time that grows each time that a trial
    // soon after it fails. The first two change nothing about how threads wait: those of another program that has just
    // ended its work spin for some milliseconds, and then the cores are ours.
    void conclude() {
        const Clock::rep now = Clock::now().time_since_epoch().count(), last = pause.load(), before = until.load();
        if (now < before) return;
        lost.store(0);
        const bool again = last && now < before + ticks(150);
        const Clock::rep next = !again ? ticks(50) : last < ticks(3000) ? 2 * last : last;
        pause.store(next);
        until.store(now + next);
        if (next > ticks(100)) call_sleepers();
    }

    static Clock::rep ticks(int milliseconds) {
        return Clock::duration(std::chrono::milliseconds(milliseconds)).count();
    }
};

Crowd crowd;

// Spins for some 50 microseconds, then gives the core away between looks: on a machine with more threads than cores the
// one that is waited for may need this very core.
template <class Done>
void spin_until(const Done& done) {
    for (int spins = 0; spins < 2000; ++spins) {
        if (done()) return;
        pause_briefly();
    }
    const Clock::time_point start = Clock::now();
    while (!done()) std::this_thread::yield();
    crowd.waited(Clock::now() - start);
}

// Threads of our own, for processes without an OpenMP pool that we could borrow.
class Pool {
public:
    // How many threads, up to so many, can compute at once: fewer where the system starts no more.
    int ready(int threads) {
        std::lock_guard<std::mutex> one_call(calls_);
        try {
            start(threads - 1);
        } catch (const std::system_error&) {
        }
        return std::min(threads, int(started_) + 1);
    }

    void run(int threads, void (*work)(void*, int), void* data) {
        std::lock_guard<std::mutex> one_call(calls_);
        start(threads - 1);
        {
            std::lock_guard<std::mutex> lock(mutex_);
            work_ = work;
            data_ = data;
            wanted_ = threads - 1;
            running_.store(threads - 1, std::memory_order_relaxed);
            round_.fetch_add(1, std::memory_order_release);
        }
        wake_.notify_all();
        work(data, 0);
        spin_until([&] { return running_.load(std::memory_order_acquire) == 0; });
    }

private:
    void start(int threads) {
        while (int(started_) < threads) {
            const int number = int(started_) + 1;
            const std::uint32_t seen = round_.load();
            std::thread([this, number, seen] { serve(number, seen); }).detach();
            ++started_;  // not before: a thread that could not be started must not be waited for
        }
    }

    void serve(int number, std::uint32_t seen) {
        for (;;) {
            for (int spins = 0; spins < 2000 && round_.load(std::memory_order_acquire) == seen; ++spins)
                pause_briefly();
            std::unique_lock<std::mutex> lock(mutex_);
            wake_.wait(lock, [&] { return round_.load(std::memory_order_relaxed) != seen; });
            seen = round_.load(std::memory_order_relaxed);
            const bool mine = number <= wanted_;
            void (*work)(void*, int) = work_;
            void* data = data_;
            lock.unlock();
            if (!mine) continue;
            work(data, number);
            running_.fetch_sub(1, std::memory_order_release);
        }
    }

    std::mutex calls_, mutex_;
    std::condition_variable wake_;
    std::size_t started_ = 0;
    void (*work_)(void*, int) = nullptr;
    void* data_ = nullptr;
    int wanted_ = 0;
    std::atomic<int> running_{0};
    std::atomic<std::uint32_t> round_{0};
};

// The OpenMP runtime that is already in the process: the one PyTorch was linked with. GOMP_parallel is libgomp's stable
// interface to compiled code; LLVM's runtime offers it too.
struct Runtime {
    bool is_gnu = false;
    void (*parallel)(void (*)(void*), void*, unsigned, unsigned) = nullptr;
    int (*thread_number)() = nullptr;
    int (*thread_count)() = nullptr;
};

#if defined(__linux__)
int find_runtime(dl_phdr_info* library, std::size_t, void* found) {
    const char* name = std::strrchr(library->dlpi_name, '/');
    if (!name || (std::strncmp(name, "/libgomp", 8) != 0 && std::strncmp(name, "/libomp", 7) != 0 &&
                  std::strncmp(name, "/libiomp", 8) != 0))
        return 0;
    void* handle = dlopen(library->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) return 0;
    Runtime runtime;
    runtime.is_gnu = name[4] == 'g';
    runtime.parallel = reinterpret_cast<decltype(runtime.parallel)>(dlsym(handle, "GOMP_parallel"));
    runtime.thread_number = reinterpret_cast<int (*)()>(dlsym(handle, "omp_get_thread_num"));
    runtime.thread_count = reinterpret_cast<int (*)()>(dlsym(handle, "omp_get_num_threads"));
    if (!runtime.parallel || !runtime.thread_number || !runtime.thread_count) return 0;
    *static_cast<Runtime*>(found) = runtime;
    return 1;
}

pid_t first_process = 0;

const Runtime* borrowed() {
    static const Runtime runtime = [] {
        Runtime found;
        dl_iterate_phdr(find_runtime, &found);
        return found;
    }();
    // A forked child has the runtime's memory but not its threads; waiting for them would never end.
    return runtime.parallel && first_process == getpid() ? &runtime : nullptr;
}

// The process's own. A forked child has its parent's memory, but not its threads; some of its own may come here at once.
Pool& pool() {
    struct Owned {
        const pid_t owner = getpid();
        Pool threads;
    };
    static std::atomic<Owned*> latest{nullptr};
    Owned* found = latest.load();
    while (!found || found->owner != getpid()) {
        Owned* const made = new Owned;
        if (latest.compare_exchange_strong(found, made)) return made->threads;
        delete made;  // another thread was first
    }
    return found->threads;
}
#else
const Runtime* borrowed() { return nullptr; }

Pool& pool() {
    static Pool* threads = new Pool;  // never destroyed: its threads may outlive static destruction
    return *threads;
}
#endif

std::atomic<int> region_threads{0};       // of the last region
std::atomic<bool> region_refused{false};  // a region had fewer threads than it asked for
std::atomic<bool> sleepers_are_there{false};

void sleep_in_a_crowd(void*) {
    const Clock::rep second = Crowd::ticks(1000);
    while (Clock::now().time_since_epoch().count() < crowd.until.load() + second)
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

// Threads of GNU's OpenMP library that have nothing to do turn in a loop for milliseconds, torch's too. In a crowd that
// uses up the turns of the scheduler that they need for work. The library lets them sleep at once while it has more
// threads than there are cores, so a team that sleeps is added until the crowd is gone, if the user has not chosen how
// they wait.
void call_sleepers() {
    static const bool chosen = std::getenv("OMP_WAIT_POLICY") || std::getenv("GOMP_SPINCOUNT");
    const Runtime* runtime = borrowed();
    const int needed = int(std::thread::hardware_concurrency()) + 2 - region_threads.load();
    if (chosen || !runtime || !runtime->is_gnu || needed > 8 || sleepers_are_there.exchange(true)) return;
    try {
        std::thread([runtime, needed] {
            runtime->parallel(sleep_in_a_crowd, nullptr, unsigned(std::max(2, needed)), 0);
            sleepers_are_there.store(false);
        }).detach();
    } catch (const std::system_error&) {
        sleepers_are_there.store(false);
    }
}

struct Region {
    void (*work)(void*, int);
    void* data;
    int threads;
    const Runtime* runtime;
    Barrier done;  // the runtime's own wait at the end would keep the core for milliseconds
    std::atomic<bool> refused{false};
    const Clock::time_point begun = Clock::now();
};

void enter(void* data) {
    Region& region = *static_cast<Region*>(data);
    // Inside another parallel region, or under a thread limit, the runtime gives fewer threads than asked for.
    if (region.runtime->thread_count() != region.threads) return region.refused.store(true);
    const int thread = region.runtime->thread_number();
    if (thread == 0) crowd.waited(Clock::now() - region.begun);  // until the others had left the region before
    region.work(region.data, thread);
    region.done.wait();
}

// Two threads that do nothing but begin together and hand a state to each other, step by step.
struct Trial {
    static constexpr int steps = 32, lines = 2, line = 64 / sizeof(float);
    Barrier barrier;
    alignas(64) float state[2][2][lines * line] = {};  // of odd and even steps, of each thread
    float sums[2] = {};
    double exchange = 0;

    void steps_of(int thread) {
        barrier.wait();
        const Clock::time_point start = Clock::now();
        float sum = 0;
        for (int step = 0; step < steps; ++step) {
            float(&now)[2][lines * line] = state[step % 2];
            for (float& value : now[thread]) value = sum + float(step);
            barrier.wait();
            for (int at = 0; at < lines * line; at += line) sum += now[1 - thread][at];
        }
        if (thread == 0) exchange = nanoseconds(start) / steps;
        sums[thread] = sum;
    }

    static double nanoseconds(Clock::time_point since) {
        return std::chrono::duration<double, std::nano>(Clock::now() - since).count();
    }
};

}  // namespace

ThreadCosts thread_costs() {
    constexpr double plausible = 5e3, enough = 2e6;
    static std::atomic<double> region{1000}, exchange{250};  // until they are measured
    static std::atomic<Clock::rep> until{0};
    const Clock::time_point begin = Clock::now();
    if (begin.time_since_epoch().count() < until.load()) return {region.load(), exchange.load()};
    Trial trial;
    trial.barrier.set_members(2);
    ThreadCosts least{1e9, 1e9};
    for (int turn = 0; turn < 10 && Trial::nanoseconds(begin) < enough; ++turn) {
        const Clock::time_point start = Clock::now();
        try {
            run_threads(
                2, [](void* self, int thread) { static_cast<Trial*>(self)->steps_of(thread); }, &trial);
        } catch (const std::system_error&) {
            break;  // the system starts no thread: ready_threads finds that, too
        }
        const double whole = Trial::nanoseconds(start);
        least.region = std::min(least.region, whole - Trial::steps * trial.exchange);
        least.exchange = std::min(least.exchange, trial.exchange);
    }
    const bool ours = least.exchange < plausible;  // otherwise another program had a core all the time
    if (ours) {
        region.store(least.region);
        exchange.store(least.exchange);
    }
    until.store(Clock::now().time_since_epoch().count() + Crowd::ticks(ours ? 1000 : 50));
    return {region.load(), exchange.load()};
}

void Barrier::wait() {
    const std::uint32_t round = round_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == std::uint32_t(members_)) {
        arrived_.store(0, std::memory_order_relaxed);
        round_.store(round + 1, std::memory_order_release);
        return;
    }
    spin_until([&] { return round_.load(std::memory_order_acquire) != round; });
}

void Progress::wait_for(Index count) {
    spin_until([&] { return count_.load(std::memory_order_acquire) >= count; });
}

bool crowded() { return Clock::now().time_since_epoch().count() < crowd.until.load(); }

const char* thread_pool() { return borrowed() ? "openmp" : "own"; }

void remember_process([[maybe_unused]] int process) {
#if defined(__linux__)
    first_process = process;
#endif
}

int ready_threads(int threads) {
    const bool lent = borrowed() && !region_refused.load(std::memory_order_relaxed);
    return threads <= 1 || lent ? threads : pool().ready(threads);
}

void run_threads(int threads, void (*work)(void*, int), void* data) {
    if (threads <= 1) return work(data, 0);
    if (const Runtime* runtime = borrowed()) {
        region_threads.store(threads, std::memory_order_relaxed);
        Region region{work, data, threads, runtime, {}};
        region.done.set_members(threads);
        runtime->parallel(enter, &region, unsigned(threads), 0);
        region_refused.store(region.refused, std::memory_order_relaxed);
        if (!region.refused) return;
    }
    pool().run(threads, work, data);
}

}  // namespace anygru
