// Rules: a stream has a part of a pool from its first use on, and only of that pool.
#include <catch2/catch.hpp>

#include "allocator/pool.hpp"

using namespace highwater;

TEST_CASE("streams: a pool has parts for the streams that used it, in order of the streams",
          "[allocator][streams]") {
  Pool pool;
  pool.kind = PoolKind::large;
  StreamCache& last = pool.of(StreamId{std::uint32_t{65534}});
  StreamCache& first = pool.of(StreamId{std::uint32_t{7}});
  CHECK(pool.streams.size() == 2);
  CHECK(&pool.streams.begin()->second == &first);
  CHECK(&pool.of(StreamId{std::uint32_t{65534}}) == &last);
  CHECK(&pool.of(StreamId{std::uint32_t{7}}) == &first);
  CHECK(first.pool == &pool);
  CHECK(first.kind == PoolKind::large);
  CHECK(pool.streams.size() == 2);
}
