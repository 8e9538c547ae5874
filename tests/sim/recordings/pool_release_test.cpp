// When private pools are given up, as entries of PyTorch 2.15 show it. The sequences are what it
// records of a torch.cuda.MemPool that is deleted and of a CUDA graph that is reset.
#include <catch2/catch.hpp>

#include "sim/recordings/derivation.hpp"
#include "sim/recordings/fidelity.hpp"
#include "tests/support/recording_builder.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

constexpr std::uint64_t kOfDefault = 0x7f0000000000;
constexpr std::uint64_t kOfPool = 0x7f0010000000;
constexpr std::uint64_t kMoreOfPool = 0x7f0020000000;
constexpr PoolId kPool{0, 1};
constexpr PoolId kOtherPool{0, 2};
constexpr BlockState kInUse = BlockState::active_allocated;
constexpr BlockState kCached = BlockState::inactive;

/// 30 MiB that the default pool has cached, and two segments of 50 and 70 MiB in a private pool.
RecordingBuilder with_pool(PoolId second = kPool) {
  RecordingBuilder builder;
  builder.segment_alloc(kOfDefault, 30_MiB).alloc(kOfDefault, 30_MiB).free(kOfDefault, 30_MiB);
  builder.segment_alloc(kOfPool, 50_MiB).in_pool(kPool).alloc(kOfPool, 50_MiB).in_pool(kPool);
  builder.segment_alloc(kMoreOfPool, 70_MiB)
      .in_pool(second)
      .alloc(kMoreOfPool, 70_MiB)
      .in_pool(second);
  return builder;
}

RecordingBuilder& give_back(RecordingBuilder& builder, std::uint64_t address, Bytes size,
                            PoolId pool) {
  builder.free_requested(address, size).in_pool(pool);
  return builder.free_completed(address, size).in_pool(pool);
}

DerivedTrace derived_from(const RecordingBuilder& builder) {
  return derive_requests(builder.get(), builder.get().devices.front(), {});
}

/// "pool_release now", "pool_release", "empty_cache", ... of what gives memory back.
std::string releases(const DerivedTrace& derived) {
  std::string text;
  for (const Event& event : derived.requests.events) {
    if (event.kind == EventKind::pool_release) {
      text += event.value == 1 ? "pool now; " : "pool; ";
    } else if (event.kind == EventKind::empty_cache) {
      text += "all; ";
    }
  }
  return text;
}

Fidelity fidelity_of(const RecordingBuilder& builder) {
  return replay_as_recorded(builder.get().devices.front(), derived_from(builder), {},
                            version_preset("2.15"))
      .fidelity;
}

}  // namespace

TEST_CASE("pool releases: a deleted MemPool returns what it has cached, and nothing else does",
          "[sim][derivation]") {
  RecordingBuilder builder = with_pool();
  give_back(builder, kOfPool, 50_MiB, kPool);
  builder.segment_free(kOfPool, 50_MiB).in_pool(kPool);  // del pool, while a block of it lives
  give_back(builder, kMoreOfPool, 70_MiB, kPool);
  builder.alloc(kOfDefault, 10_MiB);
  builder.segment_free(kMoreOfPool, 70_MiB).in_pool(kPool);  // empty_cache
  builder.final_segment(kOfDefault, {{10_MiB, kInUse}, {20_MiB, kCached}});
  CHECK(releases(derived_from(builder)) == "pool now; all; ");
  CHECK(fidelity_of(builder).is_perfect());
}

TEST_CASE("pool releases: the pool of a graph goes with the next release of all cached memory",
          "[sim][derivation]") {
  RecordingBuilder builder = with_pool();
  give_back(builder, kOfPool, 50_MiB, kPool);
  give_back(builder, kMoreOfPool, 70_MiB, kPool);
  builder.segment_free(kOfDefault, 30_MiB);
  builder.segment_free(kOfPool, 50_MiB).in_pool(kPool);
  builder.segment_free(kMoreOfPool, 70_MiB).in_pool(kPool);
  CHECK(releases(derived_from(builder)) == "pool; all; ");
  CHECK(fidelity_of(builder).is_perfect());
}

TEST_CASE("pool releases: several pools one after the other", "[sim][derivation]") {
  RecordingBuilder builder = with_pool(kOtherPool);
  give_back(builder, kOfPool, 50_MiB, kPool);
  give_back(builder, kMoreOfPool, 70_MiB, kOtherPool);
  builder.segment_free(kOfPool, 50_MiB).in_pool(kPool);
  builder.segment_free(kMoreOfPool, 70_MiB).in_pool(kOtherPool);
  builder.alloc(kOfDefault, 30_MiB);
  builder.final_segment(kOfDefault, {{30_MiB, kInUse}});
  CHECK(releases(derived_from(builder)) == "pool now; pool now; ");
  CHECK(fidelity_of(builder).is_perfect());
}

TEST_CASE("pool releases: a session's allocation released nothing of the default pool",
          "[sim][derivation]") {
  RecordingBuilder builder = with_pool();
  builder.segment_free(kOfDefault, 30_MiB);  // empty_cache, then a capture
  builder.segment_alloc(kOfDefault, 30_MiB).in_pool(kOtherPool);
  builder.alloc(kOfDefault, 30_MiB).in_pool(kOtherPool);
  builder.final_segment(kOfPool, {{50_MiB, kInUse}}, kPool);
  builder.final_segment(kMoreOfPool, {{70_MiB, kInUse}}, kPool);
  builder.final_segment(kOfDefault, {{30_MiB, kInUse}}, kOtherPool);
  CHECK(releases(derived_from(builder)) == "all; ");
  CHECK(fidelity_of(builder).is_perfect());
}
