// The pickle opcodes that Highwater reads, and why it refuses the others.
//
// Names and values are those of CPython's Lib/pickletools.py. Only data opcodes are listed as
// accepted: opcodes that import a name or call something have no handler anywhere in Highwater.
#pragma once

#include <cstdint>
#include <string_view>

namespace highwater::detail {

enum class PickleOpcode : std::uint8_t {
  proto = 0x80,
  frame = 0x95,
  stop = 0x2e,

  mark = 0x28,
  pop = 0x30,
  pop_mark = 0x31,
  dup = 0x32,

  none = 0x4e,
  new_true = 0x88,
  new_false = 0x89,
  bin_int = 0x4a,
  bin_int1 = 0x4b,
  bin_int2 = 0x4d,
  long1 = 0x8a,
  long4 = 0x8b,
  bin_float = 0x47,
  short_bin_unicode = 0x8c,
  bin_unicode = 0x58,
  bin_unicode8 = 0x8d,

  empty_dict = 0x7d,
  dict = 0x64,
  set_item = 0x73,
  set_items = 0x75,
  empty_list = 0x5d,
  list = 0x6c,
  append = 0x61,
  appends = 0x65,
  empty_tuple = 0x29,
  tuple = 0x74,
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,

  memoize = 0x94,
  bin_put = 0x71,
  long_bin_put = 0x72,
  bin_get = 0x68,
  long_bin_get = 0x6a,
};

constexpr int kOldestPickleProtocol = 2;
constexpr int kNewestPickleProtocol = 5;

struct PickleRefusal {
  std::string_view problem;
  std::string_view remedy;  ///< empty: the builder's advice to write the file again
};

constexpr std::string_view kWriteProtocol4 =
    "load it in Python and write it with pickle.dump(snapshot, file, protocol=4)";

/// Why an opcode outside the list above is refused.
PickleRefusal refusal_of(std::uint8_t opcode);

}  // namespace highwater::detail
