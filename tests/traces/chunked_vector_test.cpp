#include "traces/chunked_vector.hpp"

#include <catch2/catch.hpp>

using namespace highwater;

namespace {

constexpr std::size_t kChunk = ChunkedVector<int>::kChunk;

ChunkedVector<int> counted_to(std::size_t size) {
  ChunkedVector<int> numbers;
  for (std::size_t i = 0; i < size; ++i) {
    numbers.push_back(static_cast<int>(i));
  }
  return numbers;
}

}  // namespace

TEST_CASE("chunked vector: elements stay where they are", "[chunked_vector]") {
  ChunkedVector<int> numbers = counted_to(3);
  const int* const first = &numbers[0];
  while (numbers.size() < 2 * kChunk + 5) {
    numbers.push_back(7);
  }
  CHECK(&numbers[0] == first);
  CHECK(numbers[2] == 2);
  CHECK(numbers.back() == 7);
}

TEST_CASE("chunked vector: pieces end where a chunk does, or where asked", "[chunked_vector]") {
  const ChunkedVector<int> numbers = counted_to(kChunk + 10);
  CHECK(numbers.piece(0, 5).size() == 5);
  CHECK(numbers.piece(kChunk - 3, kChunk + 8).size() == 3);
  const std::span<const int> last = numbers.piece(kChunk, kChunk + 10);
  CHECK(last.size() == 10);
  CHECK(last.front() == static_cast<int>(kChunk));
}

TEST_CASE("chunked vector: draining gives all elements in order and leaves none",
          "[chunked_vector]") {
  ChunkedVector<int> numbers = counted_to(2 * kChunk + 1);
  std::size_t next = 0;
  bool is_in_order = true;
  numbers.drain([&](int each) { is_in_order &= each == static_cast<int>(next++); });
  CHECK(is_in_order);
  CHECK(next == 2 * kChunk + 1);
  CHECK(numbers.empty());
  CHECK(numbers.push_back(1) == 1);
}
