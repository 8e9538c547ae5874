#include "tools/files/input.hpp"

#include <new>

#include "traces/error.hpp"
#include "traces/formats/binary/binary_trace.hpp"
#include "traces/formats/bytes/byte_source.hpp"
#include "traces/formats/bytes/peeked_source.hpp"
#include "traces/formats/text/text_trace.hpp"

namespace highwater {
namespace {

TraceFile read_any(const std::string& path, StackMode stacks) {
  PeekedSource source(open_source(path));
  if (looks_like_binary_trace(source.head())) {
    return read_binary_trace(source);
  }
  if (!looks_like_pickle(source.head()) && looks_like_text_trace(source.head())) {
    return read_text_trace(source);
  }
  return read_torch_snapshot(source, {stacks});  // explains what is wrong with anything else
}

}  // namespace

TraceFile read_trace_file(const std::string& path, StackMode stacks) {
  try {
    return read_any(path, stacks);
  } catch (const std::bad_alloc&) {
    throw InputError(path, "", "needs more memory to read than there is",
                     "check where the file is from, or use a machine with more");
  }
}

}  // namespace highwater
