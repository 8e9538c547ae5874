// The data of the naive allocator: blocks as heap objects with neighbour pointers, pools as sets.
#pragma once

#include <cstdint>
#include <set>

#include "allocator/size_policy.hpp"
#include "traces/address.hpp"
#include "traces/ids.hpp"
#include "traces/units.hpp"

namespace highwater::oracle {

struct NaivePool;
struct NaivePrivatePool;

/// A reservation of address space that memory is mapped into page by page.
struct NaiveReservation {
  AddressRange range;
  Bytes page;
};

struct NaiveBlock {
  Address address;
  Bytes size;
  Bytes requested;
  StreamId stream;
  NaivePool* pool = nullptr;
  NaiveBlock* prev = nullptr;
  NaiveBlock* next = nullptr;
  NaiveReservation* reservation = nullptr;  ///< of an expandable segment
  bool allocated = false;
  bool mapped = true;
  int event_count = 0;
  std::uint64_t segment_age = 0;  ///< number of the segment; all 0 where ages do not count
  std::uint64_t gc_base = 0;
  std::set<StreamId> uses;          ///< other streams that use it
  std::set<StreamId> session_uses;  ///< those noted while a pool session was open

  [[nodiscard]] bool is_split() const { return prev != nullptr || next != nullptr; }

  [[nodiscard]] bool is_free() const { return !allocated && event_count == 0 && uses.empty(); }

  [[nodiscard]] Address end() const { return address + size; }
};

/// Best fit first: stream, then size, then the older segment, then address.
struct BySize {
  bool operator()(const NaiveBlock* a, const NaiveBlock* b) const {
    if (a->stream != b->stream) {
      return a->stream < b->stream;
    }
    if (a->size != b->size) {
      return a->size < b->size;
    }
    if (a->segment_age != b->segment_age) {
      return a->segment_age < b->segment_age;
    }
    return a->address < b->address;
  }
};

struct ByAddress {
  bool operator()(const NaiveBlock* a, const NaiveBlock* b) const {
    return a->stream != b->stream ? a->stream < b->stream : a->address < b->address;
  }
};

struct NaivePool {
  PoolKind kind = PoolKind::small;
  NaivePrivatePool* owner = nullptr;
  std::set<NaiveBlock*, BySize> blocks{};       ///< free and mapped
  std::set<NaiveBlock*, ByAddress> unmapped{};  ///< address space without memory
  std::uint64_t searches = 0;                   ///< while garbage collection is active
};

struct NaivePrivatePool {
  PoolId id;
  NaivePool small{.kind = PoolKind::small, .owner = this};
  NaivePool large{.kind = PoolKind::large, .owner = this};
  int use_count = 1;
  int segments = 0;  ///< segments and reservations held

  explicit NaivePrivatePool(PoolId pool_id) : id(pool_id) {}

  NaivePrivatePool(const NaivePrivatePool&) = delete;
  NaivePrivatePool& operator=(const NaivePrivatePool&) = delete;
};

}  // namespace highwater::oracle
