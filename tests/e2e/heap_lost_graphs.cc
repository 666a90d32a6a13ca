/* SPDX-License-Identifier: MIT */
/*
 * Graphs of objects that threads change all the time, and some that are lost, for cairn heap lost:
 * lists, trees, rings, hash tables, vectors that grow, strings, second bases, shared and unique
 * pointers. Each block that is born below a function lose_...() is lost; no other one ever is.
 *
 *     heap_lost_graphs THREADS NODES SEED    says "ready"; with each line of input it loses some
 *                                            more and says "lost"; it ends with its input
 */
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

/* What stood in a block before, such as in the unused end of a vector, is no part of the truth. */
void *operator new(size_t size)
{
    void *block = calloc(1, size);
    return block ? block : throw std::bad_alloc();
}
void operator delete(void *block) noexcept
{
    free(block);
}
void operator delete(void *block, size_t) noexcept
{
    free(block);
}

namespace
{
struct Random {
    unsigned long seed;
    unsigned long operator()(unsigned long below)
    {
        seed = seed * 6364136223846793005ul + 1442695040888963407ul;
        return (seed >> 33) % below;
    }
};

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
    std::unique_ptr<int[]> numbers{new int[12]()};
};

struct Link {
    Link *next = nullptr;
    unsigned long value = 0;
};

struct Tree {
    Tree *left = nullptr, *right = nullptr;
    unsigned long key = 0;
};

struct Ring {
    Ring *next, *before;
    Ring() : next(this), before(this)
    {
    }
};

struct Peer {
    std::shared_ptr<Peer> other;
    char room[40] = "";
};

Tree *insert(Tree *at, Tree *node)
{
    Tree **place = &at;
    while (*place)
        place = node->key < (*place)->key ? &(*place)->left : &(*place)->right;
    *place = node;
    return at;
}

/* What each thread may change: one lock for each. */
struct World {
    enum { PARTS = 4, SLOTS = 512 };
    std::mutex locks[PARTS];
    struct Part {
        Link *links = nullptr;
        Tree *tree = nullptr;
        Ring *ring = nullptr;
        std::list<Both *> queue;
        std::deque<std::unique_ptr<Both>> boxes;
        std::vector<Counted *> counted;
        std::vector<std::string> texts;
        std::map<unsigned long, std::shared_ptr<Both>> sorted;
        std::unordered_map<unsigned long, std::unique_ptr<std::array<long, 3>>> hashed;
        std::vector<std::function<unsigned long()>> calls;
    } parts[PARTS];
    std::atomic<Both *> slots[SLOTS]; /* without a lock */
};
World world;
std::atomic<bool> done;

void fill(World::Part &part, unsigned long n, Random &random)
{
    for (unsigned long i = 0; i < n; i++) {
        part.links = new Link{part.links, i};
        Tree *node = new Tree;
        node->key = random(1ul << 30);
        part.tree = insert(part.tree, node);
        Ring *ring = new Ring;
        if (part.ring) {
            ring->next = part.ring->next;
            ring->before = part.ring;
            ring->next->before = part.ring->next = ring;
        }
        part.ring = ring;
        part.hashed[random(1ul << 40)].reset(new std::array<long, 3>{});
        if (i % 4 == 0) {
            part.queue.push_back(new Both);
            part.boxes.emplace_back(new Both);
            part.counted.push_back(new Both);
            part.texts.push_back("a text that is not short, number " + std::to_string(i));
            part.sorted[i] = std::make_shared<Both>();
            auto kept = part.sorted[i];
            part.calls.push_back([kept, i] { return kept->count + i; });
        }
    }
}

void turn_list(World::Part &part)
{
    Link *turned = nullptr;
    for (int i = 0; i < 20 && part.links; i++) {
        Link *next = part.links->next;
        part.links->next = turned;
        turned = part.links;
        part.links = next;
    }
    while (turned) {
        Link *next = turned->next;
        turned->next = part.links;
        part.links = turned;
        turned = next;
    }
}

void rotate_tree(World::Part &part, Random &random)
{
    Tree **place = &part.tree;
    for (unsigned long depth = random(12); depth && *place; depth--)
        place = random(2) ? &(*place)->left : &(*place)->right;
    Tree *top = *place, *up = top ? top->right : nullptr;
    if (!up)
        return;
    top->right = up->left;
    up->left = top;
    *place = up;
}

/* The root with its left part goes to the other tree. */
void move_tree(World::Part &from, World::Part &to)
{
    Tree *root = from.tree;
    if (!root || !root->right)
        return;
    from.tree = root->right;
    root->right = nullptr;
    to.tree = to.tree ? insert(to.tree, root) : root;
}

void move_ring(World::Part &from, World::Part &to)
{
    Ring *moved = from.ring->next;
    if (moved == from.ring)
        return;
    moved->before->next = moved->next;
    moved->next->before = moved->before;
    moved->next = to.ring->next;
    moved->before = to.ring;
    moved->next->before = to.ring->next = moved;
}

void move_hashed(World::Part &from, World::Part &to, Random &random)
{
    if (from.hashed.empty())
        return;
    auto node = from.hashed.extract(from.hashed.begin());
    node.key() = random(1ul << 40);
    to.hashed.insert(std::move(node));
    if (random(50) == 0)
        to.hashed.rehash(to.hashed.size() + random(to.hashed.size() + 1));
}

void move_objects(World::Part &from, World::Part &to, Random &random)
{
    if (!from.queue.empty())
        to.queue.splice(to.queue.end(), from.queue, from.queue.begin());
    if (!from.boxes.empty()) {
        to.boxes.push_back(std::move(from.boxes.front()));
        from.boxes.pop_front();
    }
    if (!from.counted.empty()) {
        to.counted.push_back(from.counted.back());
        from.counted.pop_back();
        if (random(20) == 0)
            to.counted.shrink_to_fit();
    }
    if (!from.texts.empty()) {
        to.texts.push_back(std::move(from.texts.back()));
        from.texts.pop_back();
    }
    if (!from.calls.empty()) {
        to.calls.push_back(std::move(from.calls.back()));
        from.calls.pop_back();
    }
    if (!from.sorted.empty()) {
        auto first = from.sorted.begin();
        auto value = std::move(first->second);
        from.sorted.erase(first);
        auto &place = to.sorted[random(1ul << 40)];
        if (!place) /* of two of one key the one before stays, and this one dies */
            place = std::move(value);
    }
}

void step(Random &random, Both *&own)
{
    unsigned long a = random(World::PARTS), b = random(World::PARTS);
    own = world.slots[random(World::SLOTS)].exchange(own);
    if (a == b) {
        std::lock_guard<std::mutex> held(world.locks[a]);
        turn_list(world.parts[a]);
        rotate_tree(world.parts[a], random);
        return;
    }
    std::scoped_lock held(world.locks[a], world.locks[b]);
    World::Part &from = world.parts[a], &to = world.parts[b];
    switch (random(4)) {
    case 0:
        move_tree(from, to);
        break;
    case 1:
        move_ring(from, to);
        break;
    case 2:
        move_hashed(from, to, random);
        break;
    default:
        move_objects(from, to, random);
    }
}

void work(unsigned long seed)
{
    Random random{seed};
    Both *own = new Both;
    for (unsigned long i = 1; !done; i++) {
        step(random, own);
        if (i % 64 == 0) /* other tests want to run, too */
            std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    delete own;
}

__attribute__((noinline)) void lose_list()
{
    Link *links = nullptr;
    for (int i = 0; i < 50; i++)
        links = new Link{links, 0};
    __asm__ volatile("" ::"r"(links) : "memory");
}

__attribute__((noinline)) void lose_tree(Random &random)
{
    Tree *tree = nullptr;
    for (int i = 0; i < 31; i++) {
        Tree *node = new Tree;
        node->key = random(1000);
        tree = insert(tree, node);
    }
    __asm__ volatile("" ::"r"(tree) : "memory");
}

__attribute__((noinline)) void lose_ring()
{
    Ring *ring = new Ring, *second = new Ring;
    ring->next = ring->before = second;
    second->next = second->before = ring;
    __asm__ volatile("" ::"r"(ring) : "memory");
}

__attribute__((noinline)) void lose_both()
{
    Counted *volatile both = new Both;
    both = nullptr;
}

__attribute__((noinline)) void lose_map()
{
    auto *map = new std::unordered_map<int, std::string>;
    for (int i = 0; i < 20; i++)
        (*map)[i] = "a text that has a block of its own";
    __asm__ volatile("" ::"r"(map) : "memory");
}

__attribute__((noinline)) void lose_peers()
{
    auto peer = std::make_shared<Peer>();
    peer->other = std::make_shared<Peer>();
    peer->other->other = peer;
}

/* What calls leave on the stack is no part of the truth. */
__attribute__((noinline)) void wipe()
{
    volatile char room[16 << 10];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 0;
    __asm__ volatile("" ::: "memory");
}

void lose(Random &random)
{
    lose_list();
    lose_tree(random);
    lose_ring();
    lose_both();
    lose_map();
    lose_peers();
    wipe();
}
} // namespace

int main(int argc, char **argv)
{
    unsigned long n_threads = argc > 1 ? strtoul(argv[1], nullptr, 10) : 8;
    unsigned long n = argc > 2 ? strtoul(argv[2], nullptr, 10) : 20000;
    Random random{argc > 3 ? strtoul(argv[3], nullptr, 10) : 1};
    std::vector<std::thread> threads;
    for (auto &part : world.parts)
        fill(part, n / World::PARTS, random);
    for (auto &slot : world.slots)
        slot = new Both;
    for (unsigned long i = 0; i < n_threads; i++)
        threads.emplace_back(work, random(1ul << 30));
    puts("ready");
    fflush(stdout);
    for (int c; (c = getchar()) != EOF;) {
        if (c != '\n')
            continue;
        lose(random);
        puts("lost");
        fflush(stdout);
    }
    done = true;
    for (auto &thread : threads)
        thread.join();
    return 0;
}
