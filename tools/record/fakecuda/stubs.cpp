// The stubs of one library, from its symbol list (FAKECUDA_SYMBOLS): functions that report success
// and are counted. They are weak: a hand-written function of the same name in the same library
// takes their place.
//
// A list has one of these lines per function; N counts the parameters that are not floating-point
// numbers (which are passed in registers of their own), from 0:
//   STUB(name)                does nothing
//   OBJECT(name, N)           writes a new object's address to *parameter N
//   ZERO_32(name, N)          writes 0 to the int at parameter N: a size of which nothing is needed
//   ZERO_64(name, N)          the same for size_t and int64_t
//   ZERO_64_PAIR(name, N, M)  the same for two of them
#include <atomic>
#include <cstdarg>
#include <cstdint>

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/unmodelled.hpp"

namespace highwater::fakecuda {
namespace {

#define OBJECT(name, n) STUB(name)
#define ZERO_32(name, n) STUB(name)
#define ZERO_64(name, n) STUB(name)
#define ZERO_64_PAIR(name, n, m) STUB(name)

#define STUB(name) index_##name,

enum Index {

#include FAKECUDA_SYMBOLS
  stub_count
};
#undef STUB

#define STUB(name) #name,
constexpr const char* kNames[] = {
#include FAKECUDA_SYMBOLS
};
#undef STUB

#undef OBJECT
#undef ZERO_32
#undef ZERO_64
#undef ZERO_64_PAIR

std::atomic<std::uint64_t> calls[stub_count];

[[gnu::constructor]] void register_stubs() {
  add_stub_table({kNames, calls, stub_count});
}

/// Parameter `n` after the named first one.
inline void* parameter(void* first, std::va_list others, int n) {
  void* found = first;
  for (int i = 0; i < n; ++i) {
    found = va_arg(others, void*);
  }
  return found;
}

template <class T>
void put(void* to, T value) {
  if (to != nullptr) {
    *static_cast<T*>(to) = value;
  }
}

// Room for whatever the caller looks into.
inline void* new_object() {
  constexpr int kObjectSize = 256;
  return new char[kObjectSize]();
}

}  // namespace

#define STUB_WITH(name, n, put_result)                     \
  FAKECUDA_API [[gnu::weak]] long name(void* first, ...) { \
    ++calls[index_##name];                                 \
    std::va_list others;                                   \
    va_start(others, first);                               \
    void* const result = parameter(first, others, n);      \
    va_end(others);                                        \
    put_result;                                            \
    return 0;                                              \
  }

#define STUB(name)                         \
  FAKECUDA_API [[gnu::weak]] long name() { \
    ++calls[index_##name];                 \
    return 0;                              \
  }
#define OBJECT(name, n) STUB_WITH(name, n, put(result, new_object()))
#define ZERO_32(name, n) STUB_WITH(name, n, put<int>(result, 0))
#define ZERO_64(name, n) STUB_WITH(name, n, put<std::int64_t>(result, 0))
#define ZERO_64_PAIR(name, n, m)                           \
  FAKECUDA_API [[gnu::weak]] long name(void* first, ...) { \
    ++calls[index_##name];                                 \
    std::va_list others, again;                            \
    va_start(others, first);                               \
    va_copy(again, others);                                \
    put<std::int64_t>(parameter(first, others, n), 0);     \
    put<std::int64_t>(parameter(first, again, m), 0);      \
    va_end(again);                                         \
    va_end(others);                                        \
    return 0;                                              \
  }

#include FAKECUDA_SYMBOLS

}  // namespace highwater::fakecuda
