// Memory that a thread keeps from call to call, so that no call waits for the system to hand out pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace anygru {

// Asks the system for large pages under memory that is about to be written for the first time: a page fault for every 4
// KiB would take longer than the writing. What is not a large page by itself stays as it is.
inline void use_large_pages(void* memory, std::size_t bytes) {
#if defined(__linux__)
    constexpr std::uintptr_t page = std::uintptr_t(2) << 20;
    const std::uintptr_t start = (reinterpret_cast<std::uintptr_t>(memory) + page - 1) / page * page;
    const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / page * page;
    if (start < end) madvise(reinterpret_cast<void*>(start), end - start, MADV_HUGEPAGE);
#else
    (void)memory, (void)bytes;
#endif
}

class Workspace {
public:
    ~Workspace() { std::free(memory_); }

    // At least `bytes`, aligned for every vector and for large pages, with no particular content.
    char* reserve(std::size_t bytes) {
        if (bytes <= size_) return memory_;
        std::free(memory_);
        memory_ = nullptr;
        size_ = 0;
        constexpr std::size_t page = std::size_t(2) << 20;
        const std::size_t wanted = bytes < page ? (bytes + 4095) / 4096 * 4096 : (bytes + page - 1) / page * page;
        memory_ = static_cast<char*>(std::aligned_alloc(wanted < page ? 4096 : page, wanted));
        if (!memory_) throw std::bad_alloc();
        size_ = wanted;
        use_large_pages(memory_, wanted);
        return memory_;
    }

    // Gives back what is worth more to others than to the next call.
    void trim() {
        if (size_ <= kept_bytes) return;
        std::free(memory_);
        memory_ = nullptr;
        size_ = 0;
    }

private:
    static constexpr std::size_t kept_bytes = std::size_t(64) << 20;
    char* memory_ = nullptr;
    std::size_t size_ = 0;
};

// Deals out parts of one piece of memory: first a dry run that adds up, then the run that gives addresses.
class Parts {
public:
    explicit Parts(char* memory = nullptr) : memory_(memory) {}

    template <class Type>
    Type* take(std::ptrdiff_t count) {
        char* at = memory_ ? memory_ + used_ : nullptr;
        used_ += (std::size_t(count) * sizeof(Type) + 63) / 64 * 64;
        return reinterpret_cast<Type*>(at);
    }

    std::size_t used() const { return used_; }

private:
    char* memory_;
    std::size_t used_ = 0;
};

}  // namespace anygru
