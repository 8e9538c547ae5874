#include <iterator>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "traces/formats/text/text_escape.hpp"
#include "traces/formats/text/text_trace.hpp"
#include "traces/pool_options.hpp"

namespace highwater {
namespace {

constexpr std::size_t kFlushAt = std::size_t{1} << 16;

class TextWriter {
 public:
  TextWriter(const RequestTrace& trace, ByteSink& sink)
      : trace_(trace),
        sink_(sink),
        frame_is_written_(trace.tables.stacks.frame_count()),
        stack_is_written_(trace.tables.stacks.stack_count()) {}

  void write() {
    write_header(trace_.header);
    for (const Event& event : trace_.events) {
      write_event(event);
      if (out_.size() >= kFlushAt) {
        flush();
      }
    }
    flush();
    sink_.commit();
  }

 private:
  void flush() {
    sink_.write(std::as_bytes(std::span(out_.data(), out_.size())));
    out_.clear();
  }

  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  void write_header(const TraceHeader& header) {
    put("conf {}\n", escaped(header.settings, TextPlace::rest));
    if (header.capacity) {
      put("device {}\n", header.capacity->count());
    }
    if (header.fraction) {
      put("fraction {}\n", *header.fraction);
    }
    if (header.addresses == AddressPolicy::lowest_fit) {
      put("addr reuse\n");
    }
    if (header.torch) {
      put("torch {}\n", to_string(*header.torch));
    }
  }

  void write_event(const Event& event) {
    if (event.stack.has_value() && takes_stack(event.kind)) {
      define_stack(event.stack);
    }
    write_item(event);
    if (event.stack.has_value() && takes_stack(event.kind)) {
      put(" @{}", event.stack.value());
    }
    out_.push_back('\n');
  }

  static bool takes_stack(EventKind kind) {
    return kind < EventKind::step && kind != EventKind::set_settings;
  }

  void write_item(const Event& event) {
    switch (event.kind) {
      case EventKind::alloc:
        return write_alloc(event);
      case EventKind::free:
        put("f ");
        return write_name(event.allocation);
      case EventKind::record_stream:
        put("r ");
        write_name(event.allocation);
        return put(" {}", handle(event));
      case EventKind::stream_done:
        return put("e {}", handle(event));
      case EventKind::all_streams_done:
        return put("E");
      case EventKind::empty_cache:
        return put("c");
      case EventKind::reset_peaks:
        return put("p");
      case EventKind::pool_begin:
        write_pool("pool_begin", event);
        put("{}", option_words(pool_options_of(event.value)));
        if (session_kind_of(event.value) == SessionKind::capture) {
          put(" {}", kCaptureWord);
        }
        return;
      case EventKind::pool_end:
        return write_pool("pool_end", event);
      case EventKind::pool_retire:
        return write_pool("pool_retire", event);
      case EventKind::pool_release:
        write_pool("pool_release", event);
        return put("{}", event.value == 1 ? " now" : "");
      case EventKind::set_settings:
        return write_text("setconf", event);
      case EventKind::memory_limit:
        return event.value == kNoLimit ? put("limit {}", kNoLimitWord)
                                       : put("limit {}", event.value);
      case EventKind::step:
        return put("step {}", event.value);
      case EventKind::phase:
        return write_text("phase", event);
      case EventKind::op:
        return write_text("op", event);
    }
  }

  void write_alloc(const Event& event) {
    put("a ");
    write_name(event.allocation);
    put(" {} {}", event.value, handle(event));
    if (event.category != Category::unknown) {
      put(" {}", to_string(event.category));
    }
  }

  void write_name(AllocationId id) {
    if (trace_.allocation_names.empty()) {
      put("{}", id.value());
    } else {
      put("{}", escaped(trace_.allocation_names.at(id.index()), TextPlace::word));
    }
  }

  void write_pool(std::string_view keyword, const Event& event) {
    const PoolId pool = trace_.pools.at(event.pool);
    if (pool.user == 0) {
      put("{} {}", keyword, pool.capture);
    } else {
      put("{} {},{}", keyword, pool.capture, pool.user);
    }
  }

  void write_text(std::string_view keyword, const Event& event) {
    put("{} {}", keyword, escaped(trace_.tables.strings[event.text()], TextPlace::rest));
  }

  [[nodiscard]] std::uint64_t handle(const Event& event) const {
    return trace_.stream_handles.at(event.stream.index());
  }

  /// Definitions stand directly before their first use, so that a trace streams.
  void define_stack(StackId id) {
    if (stack_is_written_.at(id.index())) {
      return;
    }
    stack_is_written_[id.index()] = true;
    for (const FrameId frame : trace_.tables.stacks.stack(id)) {
      define_frame(frame);
    }
    put("stack {}", id.value());
    for (const FrameId frame : trace_.tables.stacks.stack(id)) {
      put(" {}", frame.value());
    }
    out_.push_back('\n');
  }

  void define_frame(FrameId id) {
    if (frame_is_written_.at(id.index())) {
      return;
    }
    frame_is_written_[id.index()] = true;
    const Frame& frame = trace_.tables.stacks.frame(id);
    put("frame {} {} {}\t{}\n", id.value(), frame.line,
        escaped(trace_.tables.strings[frame.file], TextPlace::rest),
        escaped(trace_.tables.strings[frame.function], TextPlace::rest));
  }

  const RequestTrace& trace_;
  ByteSink& sink_;
  fmt::memory_buffer out_;
  std::vector<bool> frame_is_written_;
  std::vector<bool> stack_is_written_;
};

}  // namespace

void write_text_trace(const RequestTrace& trace, ByteSink& sink) {
  TextWriter(trace, sink).write();
}

}  // namespace highwater
