// SPDX-License-Identifier: MIT
// Threads that take jobs from one queue until it is closed.
#ifndef DEMO_POOL_H
#define DEMO_POOL_H

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace demo
{

class Pool
{
  public:
    explicit Pool(unsigned n_threads)
    {
        for (unsigned i = 0; i < n_threads; i++)
            threads.emplace_back([this] { work(); });
    }

    ~Pool()
    {
        {
            std::lock_guard<std::mutex> hold(lock);
            closed = true;
        }
        changed.notify_all();
        for (std::thread &thread : threads)
            thread.join();
    }

    // Waits while many jobs wait.
    void add(std::function<void()> job)
    {
        std::unique_lock<std::mutex> hold(lock);
        changed.wait(hold, [this] { return jobs.size() < 2 * threads.size(); });
        jobs.push_back(std::move(job));
        changed.notify_all();
    }

  private:
    void work()
    {
        for (;;) {
            std::unique_lock<std::mutex> hold(lock);
            changed.wait(hold, [this] { return closed || !jobs.empty(); });
            if (jobs.empty())
                return;
            const std::function<void()> job = std::move(jobs.front());
            jobs.pop_front();
            changed.notify_all();
            hold.unlock();
            job();
        }
    }

    std::mutex lock;
    std::condition_variable changed;
    std::deque<std::function<void()>> jobs;
    bool closed = false;
    std::vector<std::thread> threads;
};

} // namespace demo

#endif
