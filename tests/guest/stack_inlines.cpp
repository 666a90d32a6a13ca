/* SPDX-License-Identifier: MIT */
/* Calls that the compiler puts into each other: a template, a lambda, a method. */
#include "stack_trigger.h"

namespace app
{

template <class Work> __attribute__((always_inline)) inline void twice(Work work)
{
    work(0);
    work(1);
}

template <class Value> class Session
{
  public:
    explicit Session(int device) : device_(device) {}

    NOINLINE void run()
    {
        twice([this](Value round) { step(round); });
        AFTER_CALL();
    }

  private:
    __attribute__((always_inline)) inline void step(Value round)
    {
        trigger(device_, round ? "inlines_1" : "inlines_0");
        AFTER_CALL();
    }

    int device_;
};

} // namespace app

int main()
{
    app::Session<long> session(open_device());
    session.run();
    return 0;
}
