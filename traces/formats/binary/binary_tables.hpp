// Side tables in the binary format: every distinct string, frame and stack once, in id order.
//
// Neighbours are similar (the paths of one package, the callers of one function), so a string is
// stored as its difference from one of the last four, and a stack as its difference from the
// previous one.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/formats/binary/binary_stream.hpp"
#include "traces/stack_table.hpp"

namespace highwater {

void put_tables(BinaryWriter& out, const SideTables& tables);

SideTables get_tables(BinaryReader& in);

/// Raw stream handles: pointers, ascending and close together.
void put_streams(BinaryWriter& out, const std::vector<std::uint64_t>& handles);

std::vector<std::uint64_t> get_streams(BinaryReader& in);

void put_pools(BinaryWriter& out, const std::vector<PoolId>& pools);

std::vector<PoolId> get_pools(BinaryReader& in);

/// A stack or string id of these tables, or none().
template <class Tag>
void put_id(BinaryWriter& out, Id<Tag> id) {
  out.put(id.has_value() ? std::uint64_t{id.value()} + 1 : 0);
}

template <class Tag>
Id<Tag> get_id(BinaryReader& in, std::size_t count, const char* what) {
  const std::uint64_t code = in.number_below(std::uint64_t{count} + 1, what);
  return code == 0 ? Id<Tag>::none() : Id<Tag>{static_cast<std::uint32_t>(code - 1)};
}

}  // namespace highwater
