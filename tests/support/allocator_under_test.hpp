// A harness for short programs: named allocations in, memory pictures out.
//
//   AllocatorUnderTest under_test;
//   under_test.alloc("a", 3_MiB);
//   CHECK(under_test.picture() == "[a:3M free:17M]");
//
// One bracket per segment in address order; "~" in front of expandable ranges; block sizes in M, K
// or bytes; freed blocks that still wait for other streams keep their name with a "?" behind it.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "allocator/caching_allocator.hpp"
#include "tests/support/failing_device.hpp"

namespace highwater {

class AllocatorUnderTest {
 public:
  struct Setup {
    std::string conf;
    std::optional<Bytes> capacity;
    std::optional<double> fraction;
    std::string torch = "2.6";
    std::optional<DeviceFault> fault;
  };

  AllocatorUnderTest() : AllocatorUnderTest(Setup{}) {}

  explicit AllocatorUnderTest(const Setup& setup);

  /// Fails the test when the allocation fails.
  void alloc(const std::string& name, Bytes size, int stream = 0);
  /// Whether the allocation ran out of memory; it must not succeed otherwise.
  bool runs_out(Bytes size, int stream = 0);
  void free(const std::string& name);
  void record_stream(const std::string& name, int stream);
  void events_done(int stream);
  /// Settings that are changed at run time.
  void change_settings(const std::string& conf);

  [[nodiscard]] BlockId handle(const std::string& name) const { return names_.at(name); }

  [[nodiscard]] std::string picture() const;

  [[nodiscard]] CachingAllocator& model() { return allocator_; }

  [[nodiscard]] const Statistics& stats() const { return allocator_.statistics(); }

 private:
  [[nodiscard]] std::string name_of(BlockId block) const;
  void check() const;

  FailingDevice device_;
  CachingAllocator allocator_;
  std::map<std::string, BlockId> names_;
};

}  // namespace highwater
