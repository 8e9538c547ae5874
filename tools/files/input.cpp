#include "tools/files/input.hpp"

#include "traces/formats/binary/binary_trace.hpp"
#include "traces/formats/bytes/byte_source.hpp"
#include "traces/formats/bytes/peeked_source.hpp"
#include "traces/formats/text/text_trace.hpp"

namespace highwater {

TraceFile read_trace_file(const std::string& path, StackMode stacks) {
  PeekedSource source(open_source(path));
  if (looks_like_binary_trace(source.head())) {
    return read_binary_trace(source);
  }
  if (!looks_like_pickle(source.head()) && looks_like_text_trace(source.head())) {
    return read_text_trace(source);
  }
  return read_torch_snapshot(source, {stacks});  // explains what is wrong with anything else
}

}  // namespace highwater
