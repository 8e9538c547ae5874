#include <algorithm>
#include <string>
#include <utility>

#include "traces/formats/binary/binary_requests.hpp"
#include "traces/formats/binary/binary_tables.hpp"
#include "traces/formats/binary/event_code.hpp"
#include "traces/formats/binary/request_predictor.hpp"
#include "traces/pool_options.hpp"

namespace highwater {
namespace {

using namespace request_tag;

Release get_release(BinaryReader& in) {
  constexpr std::uint64_t kMost = 10'000;
  const auto major = static_cast<int>(in.number_below(kMost, "release"));
  return {major, static_cast<int>(in.number_below(kMost, "release"))};
}

TraceHeader get_header(BinaryReader& in) {
  TraceHeader header;
  const unsigned flags = in.byte();
  if (flags >= 16) {
    in.fail("unknown encoding of the trace header");
  }
  header.settings = in.string();
  if ((flags & 1U) != 0) {
    header.capacity = Bytes{in.size()};
  }
  if ((flags & 2U) != 0) {
    header.fraction = in.real();
  }
  header.addresses = static_cast<AddressPolicy>(flags >> 2U & 1U);
  if ((flags & 8U) != 0) {
    header.torch = get_release(in);
  }
  return header;
}

class RequestReader {
 public:
  RequestReader(BinaryReader& in, RequestTrace& trace) : in_(in), trace_(trace) {}

  void get_all() {
    while (get_record()) {
    }
    get_names();
  }

 private:
  bool get_record() {
    const unsigned tag = in_.byte();
    switch (static_cast<RequestTag>(tag & kRequestKindMask)) {
      case RequestTag::alloc:
        get_alloc(tag);
        break;
      case RequestTag::free:
        get_free(tag);
        break;
      case RequestTag::other:
        get_other(tag);
        break;
      case RequestTag::end:
        return false;
    }
    return true;
  }

  void get_alloc(unsigned tag) {
    const std::uint32_t shape = get_shape(static_cast<ShapeGuess>(tag >> kRequestShapeShift & 3U));
    Event event = model_.shapes[shape];
    event.allocation = AllocationId{static_cast<std::uint32_t>(model_.next_id)};
    if (model_.next_id > 0xffffffff || !event.allocation.has_value()) {
      in_.fail("more allocations than a trace can hold");
    }
    trace_.events.push_back(event);
    model_.note_alloc(shape);
  }

  std::uint32_t get_shape(ShapeGuess guess) {
    switch (guess) {
      case ShapeGuess::after_three:
        return guessed_shape(ContextTable::three);
      case ShapeGuess::after_one:
        return guessed_shape(ContextTable::one);
      case ShapeGuess::by_number:
        return static_cast<std::uint32_t>(model_.shapes.size() - 1 -
                                          in_.number_below(model_.shapes.size(), "shape"));
      case ShapeGuess::is_new:
        break;
    }
    return get_new_shape();
  }

  std::uint32_t guessed_shape(ContextTable::Order order) {
    const std::uint64_t shape = model_.shape_context.guess(order);
    if (shape == ContextTable::kNoGuess) {
      in_.fail("a predicted value is used where none can be predicted");
    }
    return static_cast<std::uint32_t>(shape);
  }

  std::uint32_t get_new_shape() {
    Event shape;
    shape.value = in_.size();
    shape.stream = get_id<StreamTag>(in_, trace_.stream_handles.size(), "stream");
    shape.stack = get_id<StackTag>(in_, trace_.tables.stacks.stack_count(), "stack");
    shape.category = get_category();
    shape.pool = get_pool();
    require_stream(shape);
    return model_.shapes.add(shape);
  }

  void get_free(unsigned tag) {
    const std::uint64_t distance = (tag & kRequestDistanceGuessed) != 0
                                       ? model_.distance_context.guess(ContextTable::three)
                                       : in_.number();
    if (distance == 0 || distance > model_.next_id) {
      in_.fail("free of an allocation that was never made");
    }
    Event event;
    event.kind = EventKind::free;
    event.allocation = AllocationId{static_cast<std::uint32_t>(model_.next_id - distance)};
    trace_.events.push_back(event);
    model_.note_free(distance);
  }

  void get_other(unsigned tag) {
    Event event;
    event.kind = kEventsByCode.at(in_.number_below(kEventsByCode.size(), "event kind"));
    event.value = (tag & kHasValue) != 0 ? in_.number() : 0;
    if ((tag & kHasAllocation) != 0) {
      event.allocation = get_allocation();
    }
    if ((tag & kHasStream) != 0) {
      event.stream = get_index<StreamTag>(trace_.stream_handles.size(), "stream");
    }
    if ((tag & kHasStack) != 0) {
      event.stack = get_index<StackTag>(trace_.tables.stacks.stack_count(), "stack");
    }
    event.category = (tag & kHasCategory) != 0 ? get_category() : Category::unknown;
    event.pool = (tag & kHasPool) != 0 ? get_pool() : PoolIndex{0};
    check_references(event);
    trace_.events.push_back(event);
    model_.note_other(event);
  }

  AllocationId get_allocation() {
    const AllocationId id = get_index<AllocationTag>(0xffffffff, "allocation");
    highest_id_ = std::max(highest_id_, std::uint64_t{id.value()} + 1);
    return id;
  }

  template <class Tag>
  Id<Tag> get_index(std::size_t count, const char* what) {
    return Id<Tag>{static_cast<std::uint32_t>(in_.number_below(count, what))};
  }

  Category get_category() {
    return static_cast<Category>(in_.number_below(kCategoryCount, "category"));
  }

  /// Pool 0 need not exist: events without a pool have it too.
  PoolIndex get_pool() {
    const std::size_t count = std::max<std::size_t>(trace_.pools.size(), 1);
    return static_cast<PoolIndex>(in_.number_below(std::min<std::size_t>(count, 0x10000), "pool"));
  }

  void require_stream(const Event& event) {
    if (!event.stream.has_value()) {
      in_.fail("an operation that needs a stream and names none");
    }
  }

  /// Whatever users of a trace index tables with must exist.
  void check_references(const Event& event) {
    using enum EventKind;
    const bool names_allocation =
        event.kind == alloc || event.kind == free || event.kind == record_stream;
    if (names_allocation && !event.allocation.has_value()) {
      in_.fail("an operation that needs an allocation and names none");
    }
    if (event.kind == alloc || event.kind == record_stream || event.kind == stream_done) {
      require_stream(event);
    }
    const bool names_pool =
        event.kind >= EventKind::pool_begin && event.kind <= EventKind::pool_release;
    const bool has_text = event.kind == EventKind::set_settings || event.kind == EventKind::phase ||
                          event.kind == EventKind::op;
    if (event.kind == EventKind::pool_release && event.value > 1) {
      in_.fail("a release of a pool that is neither at once nor later");
    }
    if (event.kind == EventKind::pool_begin && event.value > kMostPoolOptions) {
      in_.fail("options of a pool that are not known");
    }
    if (names_pool && event.pool >= trace_.pools.size()) {
      in_.fail("reference to a pool that the trace does not have");
    }
    if (has_text && event.value >= trace_.tables.strings.size()) {
      in_.fail("reference to a string that the trace does not have");
    }
  }

  void get_names() {
    const std::uint64_t highest = std::max(model_.next_id, highest_id_);
    trace_.allocation_count = in_.number();
    if (trace_.allocation_count < highest || trace_.allocation_count > trace_.events.size()) {
      in_.fail("the number of allocations does not match the events");
    }
    const std::uint64_t names = in_.number();
    if (names != 0 && names != trace_.allocation_count) {
      in_.fail("the number of names does not match the allocations");
    }
    for (std::uint64_t left = names; left > 0; --left) {
      trace_.allocation_names.push_back(get_name());
    }
  }

  std::string get_name() {
    const std::uint64_t code = in_.number();
    if (code == 0) {
      return in_.string();
    }
    const std::uint64_t number = due_ + static_cast<std::uint64_t>(unzigzag(code - 1));
    due_ = number + 1;
    return std::to_string(number);
  }

  BinaryReader& in_;
  RequestTrace& trace_;
  RequestPredictor model_;
  std::uint64_t due_ = 0;         ///< the most likely name of the next allocation
  std::uint64_t highest_id_ = 0;  ///< one above the highest allocation named by an `other` record
};

}  // namespace

RequestTrace get_requests(BinaryReader& in) {
  RequestTrace trace;
  trace.header = get_header(in);
  trace.stream_handles = get_streams(in);
  trace.pools = get_pools(in);
  trace.tables = get_tables(in);
  RequestReader(in, trace).get_all();
  return trace;
}

}  // namespace highwater
