/* SPDX-License-Identifier: MIT */
/*
 * Threads that move pointers all the time, and some blocks that are lost, for cairn heap lost: no
 * block of hold() is ever without a pointer, all blocks of lose() are. heap_lost_busy THREADS says
 * "ready" and ends with its input.
 */
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace
{
enum { SLOTS = 4096, LOST = 100 };

struct Named {
    virtual ~Named() = default;
    std::string name = "a name that is longer than a string has room for";
};
struct Counted {
    virtual ~Counted() = default;
    unsigned long count = 0;
};
/* Pointers to Counted are not to the start of it. */
struct Both : Named, Counted {
    std::unique_ptr<int[]> numbers{new int[16]()};
};

__attribute__((noinline)) Both *hold()
{
    return new Both;
}

__attribute__((noinline)) void lose()
{
    for (int i = 0; i < LOST; i++) {
        Both *volatile lost = new Both;
        lost = nullptr;
    }
}

std::mutex locks[2];
std::vector<Both *> slots;                                /* of lock 0 */
std::list<Both *> queue;                                  /* of lock 1 */
std::unordered_map<unsigned long, std::shared_ptr<Both>> shared; /* of lock 1 */
std::vector<Counted *> counted;                           /* of lock 0: by their second base */
volatile bool done;

/* Every step leaves what it took somewhere: in a slot, the queue, a box, or its own stack. */
struct Mover {
    unsigned long seed;
    Both *own = nullptr;
    Both **box = nullptr;

    unsigned long random()
    {
        seed = seed * 6364136223846793005ul + 1442695040888963407ul;
        return seed >> 33;
    }

    void step()
    {
        unsigned long at = random() % SLOTS;
        switch (random() % 5) {
        case 0: { /* with a slot */
            std::lock_guard<std::mutex> held(locks[0]);
            std::swap(own, slots[at]);
            break;
        }
        case 1: { /* through the queue */
            std::lock_guard<std::mutex> held(locks[1]);
            queue.push_back(own);
            own = queue.front();
            queue.pop_front();
            break;
        }
        case 2: { /* into a new block, and out of the one before */
            Both **next = new Both *[1 + at % 8] { own };
            own = box ? *box : nullptr;
            delete[] box;
            box = next;
            break;
        }
        case 3: { /* two slots */
            std::lock_guard<std::mutex> held(locks[0]);
            std::swap(slots[at], slots[random() % SLOTS]);
            std::swap(counted[at % counted.size()], counted[random() % counted.size()]);
            break;
        }
        default: {
            std::lock_guard<std::mutex> held(locks[1]);
            auto found = shared.find(at);
            if (found != shared.end()) {
                auto moved = std::move(found->second);
                shared.erase(found);
                shared[at + SLOTS * (random() % 8)] = std::move(moved);
            }
            break;
        }
        }
    }
};

void move(unsigned long seed)
{
    Mover mover{seed};
    for (unsigned long i = 1; !done; i++) {
        mover.step();
        if (i % 64 == 0) /* other tests want to run, too */
            std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
}
} // namespace

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 8;
    std::vector<std::thread> threads;
    for (int i = 0; i < SLOTS; i++) {
        slots.push_back(hold());
        queue.push_back(hold());
        counted.push_back(hold());
        shared[i] = std::shared_ptr<Both>(hold());
    }
    lose();
    for (int i = 0; i < n; i++)
        threads.emplace_back(move, i + 1);
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    done = true;
    for (auto &thread : threads)
        thread.join();
    return 0;
}
