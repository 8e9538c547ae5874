// A log has messages about memory or none: each has a place in it, and a cause only where its
// figures bear it.
#include "tests/fuzz/fuzz_input.hpp"
#include "tools/messages/message_cause.hpp"
#include "tools/messages/oom_message.hpp"

namespace {

using namespace highwater;

std::size_t lines_in(std::string_view text) {
  return 1 + static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

void require_borne(const OomMessage& message) {
  const MessageCause cause = cause_of(message.figures);
  fuzz::require(cause.cause.has_value() != cause.unclear.has_value());
  const MessageFigures& figures = message.figures;
  fuzz::require(!cause.cause || (figures.asked && figures.free && figures.allocated));
  fuzz::require(cause.cause != OomCause::fragmentation || cause.lacking.high <= 0);
  fuzz::require(cause.cause != OomCause::capacity || cause.lacking.low > 0);
  static_cast<void>(beside_pytorch(figures));
}

}  // namespace

// The name and the types are libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  for (const OomMessage& message : oom_messages(LogText(std::string(text)))) {
    fuzz::require(message.line >= 1 && message.line <= lines_in(text));
    fuzz::require(message.times >= 1);
    require_borne(message);
  }
  return 0;
}
