#include "tests/support/allocator_under_test.hpp"

#include <catch2/catch.hpp>

#include "allocator/invariants.hpp"

namespace highwater {
namespace {

std::string short_size(Bytes size) {
  const std::uint64_t n = size.count();
  if (n % (1U << 20) == 0) {
    return std::to_string(n >> 20) + "M";
  }
  return n % (1U << 10) == 0 ? std::to_string(n >> 10) + "K" : std::to_string(n);
}

StreamId stream_id(int stream) {
  return StreamId{static_cast<std::uint32_t>(stream)};
}

}  // namespace

AllocatorUnderTest::AllocatorUnderTest(const Setup& setup)
    : device_({setup.capacity, AddressPolicy::never_reuse}, setup.fault),
      allocator_(device_, parse_settings(setup.conf, version_preset(setup.torch)),
                 version_preset(setup.torch)) {
  if (setup.fraction) {
    allocator_.set_memory_fraction(*setup.fraction);
  }
}

void AllocatorUnderTest::alloc(const std::string& name, Bytes size, int stream) {
  const AllocationResult result = allocator_.allocate(size, stream_id(stream));
  REQUIRE(result.status == AllocationStatus::ok);
  std::erase_if(names_, [&](const auto& entry) { return entry.second == result.block; });
  names_[name] = result.block;
  check();
}

bool AllocatorUnderTest::runs_out(Bytes size, int stream) {
  const AllocationResult result = allocator_.allocate(size, stream_id(stream));
  check();
  return result.status == AllocationStatus::out_of_memory;
}

void AllocatorUnderTest::free(const std::string& name) {
  allocator_.free(names_.at(name));
  check();
}

void AllocatorUnderTest::record_stream(const std::string& name, int stream) {
  allocator_.record_stream(names_.at(name), stream_id(stream));
}

void AllocatorUnderTest::events_done(int stream) {
  allocator_.complete_events(stream_id(stream));
}

void AllocatorUnderTest::change_settings(const std::string& conf) {
  Settings settings = allocator_.settings();
  apply_settings(conf, allocator_.version(), settings);
  allocator_.change_settings(settings);
}

std::string AllocatorUnderTest::name_of(BlockId block) const {
  for (const auto& [name, id] : names_) {
    if (id == block) {
      return name;
    }
  }
  return "unnamed";
}

std::string AllocatorUnderTest::picture() const {
  std::string text;
  for (const MapSegment& segment : allocator_.memory_map().segments) {
    text += text.empty() ? "" : " ";
    text += segment.is_expandable ? "~[" : "[";
    for (const MapBlock& block : segment.blocks) {
      const bool is_free = block.state == BlockState::inactive;
      text += (text.back() == '[' ? "" : " ") + (is_free ? "free" : name_of(block.handle));
      text += block.state == BlockState::active_pending_free ? "?:" : ":";
      text += short_size(block.size);
    }
    text += "]";
  }
  return text;
}

void AllocatorUnderTest::check() const {
  const std::vector<std::string> violations =
      check_invariants(allocator_.memory_map(), allocator_.statistics());
  CAPTURE(violations);
  REQUIRE(violations.empty());
}

}  // namespace highwater
