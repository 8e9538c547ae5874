// The functions of one library that need no code of their own, from its symbol list
// (FAKECUDA_SYMBOLS). They are weak: a hand-written function of the same name in the same library
// takes their place.
//
// Every line of a list is one function; N, ... are numbers of parameters, counted from 0 without
// those that are floating-point numbers (which are passed in registers of their own):
//  - PLAIN(name): nothing to be done, and nobody could see it
//  - WORK(name): a computation on the device: it takes its place among the kernel launches
//  - HANDLE(name, N): writes an object's address to *parameter N
//  - STUB(name): has no model: does nothing, reports success and is counted
//  - OBJECT(name, N): has no model: writes a new object's address and is counted
//  - ZERO_32(name, N...): has no model: the ints there become 0 (a size of which nothing is
//    needed); counted
//  - ZERO_64(name, N...): the same for size_t and int64_t
#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <initializer_list>

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/launches.hpp"
#include "tools/record/fakecuda/core/unmodelled.hpp"

namespace highwater::fakecuda {
namespace {

#define PLAIN(name)
#define WORK(name)
#define HANDLE(name, n)
#define OBJECT(name, n) STUB(name)
#define ZERO_32(name, ...) STUB(name)
#define ZERO_64(name, ...) STUB(name)

#define STUB(name) index_##name,

enum Index {

#include FAKECUDA_SYMBOLS
  stub_count
};
#undef STUB

#define STUB(name) #name,
constexpr const char* kNames[] = {
#include FAKECUDA_SYMBOLS
    "",
};
#undef STUB

#undef PLAIN
#undef WORK
#undef HANDLE
#undef OBJECT
#undef ZERO_32
#undef ZERO_64

std::atomic<std::uint64_t> calls[stub_count + 1];

[[gnu::constructor]] void register_stubs() {
  add_stub_table({kNames, calls, stub_count});
}

/// Writes a zero to what parameter `n` points to, if it points to something.
template <class T>
void zero_parameter(void* first, std::va_list others, int n) {
  void* parameter = first;
  for (int i = 0; i < n; ++i) {
    parameter = va_arg(others, void*);
  }
  if (parameter != nullptr) {
    *static_cast<T*>(parameter) = T();
  }
}

template <class T>
void zero_parameters(void* first, std::va_list others, std::initializer_list<int> numbers) {
  for (const int n : numbers) {
    std::va_list from_here;
    va_copy(from_here, others);
    zero_parameter<T>(first, from_here, n);
    va_end(from_here);
  }
}

/// The target of all handles and descriptors without their own code, which keep no state. Large
/// enough for callers that look into it.
char object[256];

/// Writes the object's address to what parameter `n` points to.
[[maybe_unused]] void put_object(void* first, std::va_list others, int n) {
  void* parameter = first;
  for (int i = 0; i < n; ++i) {
    parameter = va_arg(others, void*);
  }
  *static_cast<void**>(parameter) = object;
}

}  // namespace

// A function whose body sees its parameters as `first` and `others`.
#define WITH_PARAMETERS(name, body)                        \
  FAKECUDA_API [[gnu::weak]] long name(void* first, ...) { \
    std::va_list others;                                   \
    va_start(others, first);                               \
    body;                                                  \
    va_end(others);                                        \
    return 0;                                              \
  }

#define PLAIN(name)                        \
  FAKECUDA_API [[gnu::weak]] long name() { \
    return 0;                              \
  }
#define WORK(name)                         \
  FAKECUDA_API [[gnu::weak]] long name() { \
    launch_computation(#name);             \
    return 0;                              \
  }
#define STUB(name)                         \
  FAKECUDA_API [[gnu::weak]] long name() { \
    ++calls[index_##name];                 \
    return 0;                              \
  }
#define HANDLE(name, n) WITH_PARAMETERS(name, put_object(first, others, n))
#define OBJECT(name, n) WITH_PARAMETERS(name, ++calls[index_##name]; put_object(first, others, n))
#define ZERO_32(name, ...) \
  WITH_PARAMETERS(name, ++calls[index_##name]; zero_parameters<int>(first, others, {__VA_ARGS__}))
#define ZERO_64(name, ...)                     \
  WITH_PARAMETERS(name, ++calls[index_##name]; \
                  zero_parameters<std::int64_t>(first, others, {__VA_ARGS__}))

#include FAKECUDA_SYMBOLS

}  // namespace highwater::fakecuda
