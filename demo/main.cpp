// SPDX-License-Identifier: MIT
// The program that ./run demo samples: some threads draw a scene and read texts until the time is
// over. Usage: demo [SECONDS]
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "pool.h"
#include "ray.h"
#include "words.h"

namespace
{

enum { THREADS = 2, IMAGE_SIZE = 320, SPHERES = 40, TEXT_WORDS = 20000 };

class Program
{
  public:
    void run(double seconds)
    {
        using clock = std::chrono::steady_clock;
        const auto end = clock::now() + std::chrono::duration<double>(seconds);
        demo::Pool pool(THREADS);
        for (unsigned i = 0; clock::now() < end; i++) {
            if (i % 32 == 0)
                pool.add([this, i] { read_text(i); });
            pool.add([this, i] { draw_row(static_cast<int>(i) % IMAGE_SIZE); });
        }
    }

    void print() const
    {
        std::printf("%u rows drawn, %u texts read, %u words alike\n", rows.load(), texts.load(),
                    alike.load());
    }

  private:
    void draw_row(int y)
    {
        const auto row = scene.render_row(y, IMAGE_SIZE);
        const double light = std::accumulate(row.begin(), row.end(), 0.0);
        rows += light > 0;
    }

    void read_text(unsigned seed)
    {
        demo::Index index;
        index.add_text(demo::make_text(seed, TEXT_WORDS));
        alike += index.similar_pairs(2);
        texts++;
    }

    const demo::Scene scene{SPHERES};
    std::atomic<unsigned> rows{0}, texts{0}, alike{0};
};

} // namespace

int main(int argc, char **argv)
{
    Program program;
    program.run(argc > 1 ? std::atof(argv[1]) : 5);
    program.print();
    return 0;
}
