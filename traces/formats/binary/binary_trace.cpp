#include "traces/formats/binary/binary_trace.hpp"

#include <algorithm>

#include "traces/formats/binary/binary_program.hpp"
#include "traces/formats/binary/binary_recording.hpp"
#include "traces/formats/binary/binary_requests.hpp"
#include "traces/formats/binary/binary_stream.hpp"

namespace highwater {

bool looks_like_binary_trace(std::span<const std::byte> head) {
  return head.size() >= binary::kMagic.size() &&
         std::equal(binary::kMagic.begin(), binary::kMagic.end(), head.begin(),
                    [](std::uint8_t a, std::byte b) { return std::byte{a} == b; });
}

bool looks_like_program(std::span<const std::byte> head) {
  constexpr std::size_t kKindAt = 10;
  return looks_like_binary_trace(head) && head.size() > kKindAt &&
         head[kKindAt] == static_cast<std::byte>(BinaryKind::scalable_program);
}

std::variant<RequestTrace, Recording, ScalableProgram> read_binary_trace(ByteSource& source) {
  BinaryReader in(source);
  std::variant<RequestTrace, Recording, ScalableProgram> content;
  if (in.kind() == BinaryKind::recording) {
    content = get_recording(in);
  } else if (in.kind() == BinaryKind::scalable_program) {
    content = get_program(in);
  } else {
    content = get_requests(in);
  }
  in.finish();
  return content;
}

void write_binary_trace(const RequestTrace& trace, ByteSink& sink) {
  BinaryWriter out(sink, BinaryKind::request_trace);
  put_requests(out, trace);
  out.finish();
  sink.commit();
}

void write_binary_trace(const Recording& recording, ByteSink& sink) {
  BinaryWriter out(sink, BinaryKind::recording);
  put_recording(out, recording);
  out.finish();
  sink.commit();
}

void write_binary_trace(const ScalableProgram& program, ByteSink& sink) {
  BinaryWriter out(sink, BinaryKind::scalable_program);
  put_program(out, program);
  out.finish();
  sink.commit();
}

}  // namespace highwater
