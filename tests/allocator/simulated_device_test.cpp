// The simulated device: capacity to the byte, addresses by the stated policy.
#include "allocator/simulated_device.hpp"

#include <catch2/catch.hpp>

using namespace highwater;
using namespace highwater::literals;

namespace {

constexpr Address kFirst{0x7f0000000000};

AddressRange allocated(SimulatedDevice& device, Bytes size) {
  return {device.allocate(size).value(), size};
}

}  // namespace

TEST_CASE("simulated_device: the last byte can be had, and nothing beyond", "[allocator][device]") {
  SimulatedDevice device({.capacity = 10_MiB});
  CHECK_FALSE(device.allocate(10_MiB + 1_B));
  const AddressRange all = allocated(device, 10_MiB);
  CHECK(device.free_memory() == 0_B);
  CHECK_FALSE(device.allocate(1_B));
  device.free(all);
  CHECK(device.free_memory() == 10_MiB);
  CHECK(device.used() == 0_B);
  CHECK(device.peak_used() == 10_MiB);
}

TEST_CASE("simulated_device: a mapping that fails takes no memory", "[allocator][device]") {
  SimulatedDevice device({.capacity = 5_MiB});
  const AddressRange range{device.reserve({.size = 8_MiB, .stream = {}}), 6_MiB};
  CHECK_FALSE(device.map(range, 2_MiB));
  CHECK(device.used() == 0_B);
  CHECK(device.map({range.begin, 4_MiB}, 2_MiB));
  CHECK(device.used() == 4_MiB);
  device.unmap({range.begin, 4_MiB});
  CHECK(device.used() == 0_B);
}

TEST_CASE("simulated_device: without a capacity it is as large as reservations need",
          "[allocator][device]") {
  SimulatedDevice device({});
  CHECK(device.total_memory() == 1024_GiB);
  CHECK(device.allocate(2048_GiB));
  CHECK(device.free_memory() == 0_B);
}

TEST_CASE("simulated_device: without a capacity it holds 2^62 bytes and no more",
          "[allocator][device]") {
  constexpr Bytes kAll{std::uint64_t{1} << 62};
  SimulatedDevice device({});
  CHECK_FALSE(device.allocate(kAll + 1_B));
  CHECK(device.allocate(kAll));
}

TEST_CASE("simulated_device: addresses lie on 2 MiB boundaries and are not used again",
          "[allocator][device]") {
  SimulatedDevice device({});
  const AddressRange first = allocated(device, 1_B);
  CHECK(first.begin == kFirst);
  device.free(first);
  CHECK(allocated(device, 3_MiB).begin == kFirst + 2_MiB);
  CHECK(allocated(device, 2_MiB).begin == kFirst + 6_MiB);
}

TEST_CASE("simulated_device: lowest fit takes the first gap that is large enough",
          "[allocator][device]") {
  SimulatedDevice device({.addresses = AddressPolicy::lowest_fit});
  const AddressRange a = allocated(device, 2_MiB);
  const AddressRange b = allocated(device, 2_MiB);
  const AddressRange c = allocated(device, 6_MiB);
  const AddressRange d = allocated(device, 2_MiB);
  device.free(a);
  device.free(c);
  CHECK(allocated(device, 4_MiB).begin == c.begin);
  CHECK(allocated(device, 2_MiB).begin == a.begin);
  CHECK(allocated(device, 2_MiB).begin == c.begin + 4_MiB);
  CHECK(allocated(device, 2_MiB).begin == d.end());
  device.free(b);
}

TEST_CASE("simulated_device: gaps that touch become one, up to the end", "[allocator][device]") {
  SimulatedDevice device({.addresses = AddressPolicy::lowest_fit});
  const AddressRange a = allocated(device, 1_MiB);
  const AddressRange b = allocated(device, 1_MiB);
  const AddressRange c = allocated(device, 1_MiB);
  const AddressRange d = allocated(device, 1_MiB);
  SECTION("with the gap before and the gap behind") {
    device.free(a);
    device.free(c);
    device.free(b);
    CHECK(allocated(device, 6_MiB).begin == a.begin);
  }
  SECTION("with one that does not touch") {
    device.free(a);
    device.free(c);
    CHECK(allocated(device, 4_MiB).begin == d.begin + 2_MiB);
  }
  SECTION("with the end") {
    device.free(c);
    device.free(d);
    CHECK(allocated(device, 10_MiB).begin == c.begin);
  }
}
