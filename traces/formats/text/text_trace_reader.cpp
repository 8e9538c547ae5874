#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "traces/formats/bytes/memory_bound.hpp"
#include "traces/formats/text/stream_numbers.hpp"
#include "traces/formats/text/text_definitions.hpp"
#include "traces/formats/text/text_escape.hpp"
#include "traces/formats/text/text_fields.hpp"
#include "traces/formats/text/text_trace.hpp"
#include "traces/pool_options.hpp"

namespace highwater {
namespace {

std::optional<Category> parse_category(std::string_view word) {
  for (std::size_t i = 0; i < kCategoryCount; ++i) {
    if (to_string(static_cast<Category>(i)) == word) {
      return static_cast<Category>(i);
    }
  }
  return std::nullopt;
}

EventKind event_kind(Keyword keyword) {
  constexpr auto kFirst = static_cast<unsigned>(Keyword::a);
  static_assert(static_cast<unsigned>(Keyword::op) - kFirst ==
                static_cast<unsigned>(EventKind::op));  // both lists are in the same order
  return static_cast<EventKind>(static_cast<unsigned>(keyword) - kFirst);
}

class TextReader {
 public:
  explicit TextReader(ByteSource& source) : fields_(source), definitions_(fields_, trace_) {}

  RequestTrace read() {
    while (fields_.next_line()) {
      if (fields_.bytes_read() >= next_check_) {
        check_memory();
      }
      read_line(fields_.row().keyword);
    }
    check_memory();
    trace_.stream_handles = streams_.sort(trace_.events);
    definitions_.finish();
    return std::move(trace_);
  }

 private:
  void read_line(Keyword keyword) {
    if (keyword < Keyword::a) {
      read_header_line(keyword);
    } else if (keyword < Keyword::frame) {
      Event event;
      event.kind = event_kind(keyword);
      read_event(event);
      trace_.events.push_back(event);
    } else if (keyword == Keyword::frame) {
      definitions_.read_frame();
    } else {
      definitions_.read_stack();
    }
  }

  void check_memory() {
    next_check_ = fields_.bytes_read() + kMemoryCheckEvery;
    const std::uint64_t used = trace_.events.size() * sizeof(Event) + definitions_.memory();
    if (used > most_memory(fields_.bytes_read())) {
      fields_.fail("the lines so far take more memory than those of any real trace of this size",
                   "leave out the lines that repeat without an effect");
    }
  }

  void read_header_line(Keyword keyword) {
    const auto bit = 1U << static_cast<unsigned>(keyword);
    if (!trace_.events.empty()) {
      fields_.fail(
          fmt::format("the header line '{}' follows an operation or marker", fields_.row().word),
          "move it to the top (setconf changes the settings of a running program)");
    }
    if ((headers_seen_ & bit) != 0) {
      fields_.fail(fmt::format("a second '{}' line", fields_.row().word), "keep only one of them");
    }
    headers_seen_ |= bit;
    read_header(keyword, trace_.header);
  }

  void read_header(Keyword keyword, TraceHeader& header) {
    switch (keyword) {
      case Keyword::conf:
        header.settings = unescaped(fields_.rest());
        return;
      case Keyword::device:
        header.capacity = Bytes{fields_.number("BYTES")};
        break;
      case Keyword::fraction:
        header.fraction = parse_number<double>(fields_.word());
        fields_.require(header.fraction && *header.fraction >= 0 && std::isfinite(*header.fraction),
                        "X, a number from 0 to 1");
        break;
      case Keyword::torch:
        header.torch = parse_release(fields_.word());
        fields_.require(header.torch.has_value(), "RELEASE, e.g. 2.15");
        break;
      default:
        fields_.require(fields_.word() == "reuse", "the word 'reuse'");
        header.addresses = AddressPolicy::lowest_fit;
    }
    fields_.expect_end();
  }

  void read_event(Event& event) {
    switch (event.kind) {
      case EventKind::set_settings:
      case EventKind::phase:
      case EventKind::op:
        event.value = definitions_.text(fields_.rest()).value();
        break;
      case EventKind::step:
        event.value = fields_.number("N");
        fields_.expect_end();
        break;
      default:
        read_operands(event);
        read_end_of_operation(event);
    }
  }

  void read_operands(Event& event) {
    switch (event.kind) {
      case EventKind::alloc:
        event.allocation = definitions_.new_allocation();
        event.value = fields_.number("SIZE");
        event.stream = stream();
        break;
      case EventKind::free:
        event.allocation = definitions_.known_allocation();
        break;
      case EventKind::record_stream:
        event.allocation = definitions_.known_allocation();
        event.stream = stream();
        break;
      case EventKind::stream_done:
        event.stream = stream();
        break;
      case EventKind::pool_begin:
      case EventKind::pool_end:
      case EventKind::pool_retire:
      case EventKind::pool_release:
        event.pool = pool();
        break;
      case EventKind::memory_limit:
        event.value = limit();
        break;
      default:
        break;
    }
  }

  std::uint64_t limit() {
    const std::string_view word = fields_.word();
    if (word == kNoLimitWord) {
      return kNoLimit;
    }
    const auto bytes = parse_number<std::uint64_t>(word);
    fields_.require(bytes.has_value(), "BYTES, or the word 'none'");
    return *bytes;
  }

  StreamId stream() { return streams_.id_of(fields_.number("STREAM")); }

  PoolIndex pool() {
    const std::string_view word = fields_.word();
    const std::size_t comma = std::min(word.find(','), word.size());
    const auto capture = parse_number<std::uint64_t>(word.substr(0, comma));
    const auto user = comma == word.size() ? std::optional<std::uint64_t>(0)
                                           : parse_number<std::uint64_t>(word.substr(comma + 1));
    fields_.require(capture && user, "POOL, either K or A,B");
    return definitions_.pool({*capture, *user});
  }

  /// [CATEGORY] [@STACK] and the end of the line.
  void read_end_of_operation(Event& event) {
    std::string_view word = fields_.word();
    if (word.empty()) {
      return;
    }
    if (word.front() != '@' && event.kind == EventKind::alloc) {
      const auto category = parse_category(word);
      fields_.require(category.has_value(), "a category such as 'activation', or @STACK");
      event.category = *category;
      word = fields_.word();
    }
    if (event.kind == EventKind::pool_begin) {
      PoolOptions options;
      for (; set_option(word, options); word = fields_.word()) {
      }
      const bool is_capture = word == kCaptureWord;
      event.value = value_of(options, is_capture ? SessionKind::capture : SessionKind::routed);
      word = is_capture ? fields_.word() : word;
    }
    if (word == "now" && event.kind == EventKind::pool_release) {
      event.value = 1;
      word = fields_.word();
    }
    if (!word.empty()) {
      fields_.require(word.front() == '@', "the end of the line or @STACK");
      event.stack = definitions_.stack(word.substr(1));
      fields_.expect_end();
    }
  }

  RequestTrace trace_;
  TextFields fields_;
  TextDefinitions definitions_;
  StreamNumbers streams_;
  unsigned headers_seen_ = 0;
  std::uint64_t next_check_ = kMemoryCheckEvery;
};

}  // namespace

bool looks_like_text_trace(std::span<const std::byte> head) {
  std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::string_view first =
        TextLine(line.substr(0, line.size() - (line.ends_with('\r') ? 1 : 0))).word();
    if (!first.empty() && first.front() != '#') {
      return find_keyword(first) != nullptr;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return !head.empty();
}

RequestTrace read_text_trace(ByteSource& source) {
  return TextReader(source).read();
}

}  // namespace highwater
