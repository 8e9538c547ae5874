#include <optional>
#include <string>

#include "traces/formats/binary/binary_requests.hpp"
#include "traces/formats/binary/binary_tables.hpp"
#include "traces/formats/binary/event_code.hpp"
#include "traces/formats/binary/request_predictor.hpp"
#include "traces/formats/text/text_line.hpp"

namespace highwater {
namespace {

using namespace request_tag;

void put_header(BinaryWriter& out, const TraceHeader& header) {
  out.put_byte(static_cast<std::uint8_t>((header.capacity ? 1U : 0U) | (header.fraction ? 2U : 0U) |
                                         static_cast<unsigned>(header.addresses) << 2U |
                                         (header.torch ? 8U : 0U)));
  out.put_string(header.settings);
  if (header.capacity) {
    out.put_size(header.capacity->count());
  }
  if (header.fraction) {
    out.put_double(*header.fraction);
  }
  if (header.torch) {
    out.put(static_cast<std::uint64_t>(header.torch->major));
    out.put(static_cast<std::uint64_t>(header.torch->minor));
  }
}

/// The number that `name` spells canonically.
std::optional<std::uint64_t> as_number(const std::string& name) {
  const auto number = parse_number<std::uint64_t>(name);
  return number && std::to_string(*number) == name ? number : std::nullopt;
}

/// Names mostly count upward. 0: a word follows; otherwise one more than the zigzag distance from
/// the expected number.
void put_names(BinaryWriter& out, const std::vector<std::string>& names) {
  std::uint64_t due = 0;
  out.put(names.size());
  for (const std::string& name : names) {
    const auto number = as_number(name);
    const std::uint64_t code =
        number ? zigzag(static_cast<std::int64_t>(*number - due)) + 1 : 0;  // 0 also by wrapping
    out.put(code);
    if (code == 0) {
      out.put_string(name);
    } else {
      due = *number + 1;
    }
  }
}

/// The event without the fields that its record implies.
Event shape_of(Event event) {
  event.allocation = AllocationId::none();
  return event;
}

class RequestWriter {
 public:
  explicit RequestWriter(BinaryWriter& out) : out_(out) {}

  void put_all(const ChunkedVector<Event>& events) {
    for (const Event& event : events) {
      put_event(event);
    }
    out_.put_byte(static_cast<std::uint8_t>(RequestTag::end));
  }

 private:
  void put_event(const Event& event) {
    if (event.kind == EventKind::alloc && event.allocation.has_value() &&
        event.allocation.value() == model_.next_id) {
      return put_alloc(event);
    }
    if (is_plain_free(event)) {
      return put_free(event);
    }
    put_other(event);
  }

  /// A free in which nothing but the allocation is set, and that one is known.
  [[nodiscard]] bool is_plain_free(const Event& event) const {
    Event plain;
    plain.kind = EventKind::free;
    plain.allocation = event.allocation;
    return event == plain && event.allocation.has_value() &&
           event.allocation.value() < model_.next_id;
  }

  void put_alloc(const Event& event) {
    const Event shape = shape_of(event);
    const std::size_t known = model_.shapes.find(shape);
    const ShapeGuess guess = guess_for(known);
    out_.put_byte(static_cast<std::uint8_t>(static_cast<unsigned>(RequestTag::alloc) |
                                            static_cast<unsigned>(guess) << kRequestShapeShift));
    std::size_t number = known;
    if (guess == ShapeGuess::is_new) {
      put_shape(shape);
      number = model_.shapes.add_searchable(shape);
    } else if (guess == ShapeGuess::by_number) {
      out_.put(model_.shapes.size() - 1 - number);
    }
    model_.note_alloc(static_cast<std::uint32_t>(number));
  }

  [[nodiscard]] ShapeGuess guess_for(std::size_t known) const {
    if (known == model_.shapes.size()) {
      return ShapeGuess::is_new;
    }
    if (known == model_.shape_context.guess(ContextTable::three)) {
      return ShapeGuess::after_three;
    }
    return known == model_.shape_context.guess(ContextTable::one) ? ShapeGuess::after_one
                                                                  : ShapeGuess::by_number;
  }

  void put_shape(const Event& shape) {
    out_.put_size(shape.value);
    put_id(out_, shape.stream);
    put_id(out_, shape.stack);
    out_.put_byte(static_cast<std::uint8_t>(shape.category));
    out_.put(shape.pool);
  }

  void put_free(const Event& event) {
    const std::uint64_t distance = model_.next_id - event.allocation.value();
    const bool guessed = model_.distance_context.guess(ContextTable::three) == distance;
    out_.put_byte(static_cast<std::uint8_t>(static_cast<unsigned>(RequestTag::free) |
                                            (guessed ? kRequestDistanceGuessed : 0)));
    if (!guessed) {
      out_.put(distance);
    }
    model_.note_free(distance);
  }

  void put_other(const Event& event) {
    out_.put_byte(
        static_cast<std::uint8_t>(static_cast<unsigned>(RequestTag::other) | fields_of(event)));
    out_.put_byte(code_of(event.kind));
    if (event.value != 0) {
      out_.put(event.value);
    }
    if (event.allocation.has_value()) {
      out_.put(event.allocation.value());
    }
    if (event.stream.has_value()) {
      out_.put(event.stream.value());
    }
    if (event.stack.has_value()) {
      out_.put(event.stack.value());
    }
    if (event.category != Category::unknown) {
      out_.put_byte(static_cast<std::uint8_t>(event.category));
    }
    if (event.pool != 0) {
      out_.put(event.pool);
    }
    model_.note_other(event);
  }

  static unsigned fields_of(const Event& event) {
    return (event.value != 0 ? kHasValue : 0) |
           (event.allocation.has_value() ? kHasAllocation : 0) |
           (event.stream.has_value() ? kHasStream : 0) | (event.stack.has_value() ? kHasStack : 0) |
           (event.category != Category::unknown ? kHasCategory : 0) |
           (event.pool != 0 ? kHasPool : 0);
  }

  BinaryWriter& out_;
  RequestPredictor model_;
};

}  // namespace

void put_requests(BinaryWriter& out, const RequestTrace& trace) {
  put_header(out, trace.header);
  put_streams(out, trace.stream_handles);
  put_pools(out, trace.pools);
  put_tables(out, trace.tables);
  RequestWriter(out).put_all(trace.events);
  out.put(trace.allocation_count);
  put_names(out, trace.allocation_names);
}

}  // namespace highwater
