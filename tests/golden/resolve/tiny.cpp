// SPDX-License-Identifier: MIT
// What libtiny.so was built from (make_tiny.sh).
namespace app
{
template <class T> struct Table {
    T cells[8];
    T get(int at) const
    {
        return cells[at & 7];
    }
};

static inline __attribute__((always_inline)) int middle(const Table<int> &table, int at)
{
    return table.get(at) + 1;
}

__attribute__((noinline)) int outer(const Table<int> &table, int at)
{
    return middle(table, at) * 3;
}
} // namespace app

extern "C" int start(const app::Table<int> *table)
{
    return app::outer(*table, 1) + app::outer(*table, 2);
}
