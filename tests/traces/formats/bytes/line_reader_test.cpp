#include "traces/formats/bytes/line_reader.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

namespace highwater {
namespace {

/// A text that notes how much of it a reader has room for.
class NotingSource : public ByteSource {
 public:
  explicit NotingSource(std::string text) : text_(std::move(text)) {}

  std::size_t read(std::span<std::byte> buffer) override {
    first_room_ = first_room_ == 0 ? buffer.size() : first_room_;
    largest_room_ = std::max(largest_room_, buffer.size());
    const std::size_t size = std::min(buffer.size(), text_.size() - at_);
    std::memcpy(buffer.data(), text_.data() + at_, size);
    at_ += size;
    return size;
  }

  [[nodiscard]] const std::string& name() const override { return name_; }

  [[nodiscard]] std::size_t first_room() const { return first_room_; }

  [[nodiscard]] std::size_t largest_room() const { return largest_room_; }

 private:
  std::string text_;
  std::string name_ = "a text";
  std::size_t at_ = 0;
  std::size_t first_room_ = 0;
  std::size_t largest_room_ = 0;
};

std::size_t count_lines(ByteSource& source) {
  LineReader lines(source);
  std::size_t count = 0;
  while (lines.next()) {
    ++count;
  }
  return count;
}

TEST_CASE("A reader of lines takes memory as a text needs it", "[formats][text]") {
  // An archive may hold a hundred thousand members of two bytes each.
  NotingSource tiny("a\n");
  CHECK(count_lines(tiny) == 1);
  CHECK(tiny.largest_room() <= 16 << 10);

  NotingSource large(std::string(std::size_t{8} << 20, '\n'));
  CHECK(count_lines(large) == std::size_t{8} << 20);
  CHECK(large.first_room() <= 4 << 10);
  CHECK(large.largest_room() >= std::size_t{512} << 10);  // few reads of a large one
}

TEST_CASE("A line longer than a block is whole", "[formats][text]") {
  const std::string line(std::size_t{3} << 20, 'x');
  NotingSource source("first\n" + line + "\nlast");
  LineReader lines(source);
  CHECK(lines.next() == "first");
  CHECK(lines.next() == line);
  CHECK(lines.next() == "last");
  CHECK_FALSE(lines.next());
}

}  // namespace
}  // namespace highwater
