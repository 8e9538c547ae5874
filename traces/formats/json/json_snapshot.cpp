#include "traces/formats/json/json_snapshot.hpp"

#include <algorithm>
#include <vector>

#include "traces/formats/json/json_stream.hpp"
#include "traces/formats/pickle/pickle_writer.hpp"

namespace highwater {
namespace {

using detail::PickleOpcode;

constexpr std::string_view kRemedy =
    "write it again with json.dump(torch.cuda.memory._snapshot(), file)";

/// What was written and not yet read.
class PickleBuffer final : public ByteSink {
 public:
  void write(std::span<const std::byte> bytes) override {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }

  void commit() override {}

  [[nodiscard]] const std::string& name() const override { return name_; }

  std::size_t take(std::span<std::byte> buffer) {
    const std::size_t size = std::min(buffer.size(), bytes_.size() - taken_);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(taken_), size, buffer.begin());
    taken_ += size;
    if (taken_ == bytes_.size()) {
      bytes_.clear();
      taken_ = 0;
    }
    return size;
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t taken_ = 0;
  std::string name_ = "pickle";
};

/// The opcodes of each value. Lists are made from a mark: when they begin it is not known whether
/// they are tuples, as the ids of pools are.
class PickleEvents {
 public:
  explicit PickleEvents(ByteSink& sink) : out_(sink) {}

  void begin_object() {
    add(false);
    out_.put(PickleOpcode::empty_dict);
    out_.put(PickleOpcode::mark);
    open_.push_back({});
  }

  void end_object() {
    open_.pop_back();
    out_.put(PickleOpcode::set_items);
    out_.flush_if_large();
  }

  void begin_array() {
    add(false);
    out_.put(PickleOpcode::mark);
    open_.push_back({});
  }

  void end_array() {
    const Container list = open_.back();
    open_.pop_back();
    out_.put(list.size == 2 && list.is_numbers ? PickleOpcode::tuple : PickleOpcode::list);
  }

  void key(std::string_view text) { out_.text(text); }

  void text(std::string_view value) {
    add(false);
    out_.text(value);
  }

  void integer(std::int64_t value) {
    add(true);
    out_.integer(value);
  }

  void natural(std::uint64_t value) {
    add(true);
    out_.natural(value);
  }

  void real(double value) {
    add(false);
    out_.real(value);
  }

  void boolean(bool value) {
    add(false);
    out_.boolean(value);
  }

  void null() {
    add(false);
    out_.put(PickleOpcode::none);
  }

  void finish() { out_.finish(); }

 private:
  struct Container {
    std::size_t size = 0;
    bool is_numbers = true;
  };

  void add(bool is_number) {
    if (!open_.empty()) {
      ++open_.back().size;
      open_.back().is_numbers &= is_number;
    }
  }

  detail::PickleWriter out_;
  std::vector<Container> open_;
};

/// JSON as the pickle of the same values.
class PickleOfJson final : public ByteSource {
 public:
  explicit PickleOfJson(ByteSource& json)
      : name_(json.name()), events_(buffer_), stream_(json, events_, kRemedy) {}

  std::size_t read(std::span<std::byte> buffer) override {
    for (;;) {
      const std::size_t size = buffer_.take(buffer);
      if (size != 0 || has_ended_) {
        return size;
      }
      if (!stream_.next()) {
        events_.finish();
        has_ended_ = true;
      }
    }
  }

  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::string name_;
  PickleBuffer buffer_;
  PickleEvents events_;
  detail::JsonStream<PickleEvents> stream_;
  bool has_ended_ = false;
};

}  // namespace

Recording read_json_snapshot(ByteSource& source, const SnapshotOptions& options) {
  PickleOfJson pickle(source);
  return read_torch_snapshot(pickle, options);
}

bool looks_like_json(std::span<const std::byte> first_bytes) {
  const auto is_space = [](std::byte byte) {
    return std::string_view(" \t\r\n").find(static_cast<char>(byte)) != std::string_view::npos;
  };
  const auto first = std::ranges::find_if_not(first_bytes, is_space);
  return first != first_bytes.end() && (*first == std::byte{'{'} || *first == std::byte{'['});
}

}  // namespace highwater
