// The PickleMachine's error messages, first of all for files that are not pickles.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "traces/formats/pickle/pickle_machine.hpp"
#include "traces/formats/pickle/pickle_opcodes.hpp"
#include "traces/formats/pickle/pickle_path.hpp"

namespace highwater::detail {
namespace {

struct OtherKind {
  std::string_view first_bytes;
  std::string_view problem;
  std::string_view remedy;  ///< empty: the builder's advice
};

constexpr std::string_view kNotJson = "this is a JSON file, not a pickle";
constexpr std::string_view kNotText =
    "a text pickle (protocol 0 or 1), which Highwater cannot read";

constexpr std::array<OtherKind, 12> kOtherKinds{{
    {"PK\x03\x04", "this is a zip file, as torch.save writes, not a plain pickle", {}},
    {"{", kNotJson, {}},
    {"[", kNotJson, {}},
    {"version https://git-lfs", "this is a Git LFS pointer, not the file itself",
     "fetch the file with git lfs pull"},
    {"<", "this is an HTML or XML page, not a pickle", {}},
    {"(d", kNotText, kWriteProtocol4},
    {"(l", kNotText, kWriteProtocol4},
    {"}q", kNotText, kWriteProtocol4},
    {"]q", kNotText, kWriteProtocol4},
    {"\x1f\x8b", "this gzip file contains another gzip file", "decompress it first"},
    {"BZh", "this is a bzip2 file", "decompress it with bunzip2 first"},
    {"(", kNotText, kWriteProtocol4},
}};

bool starts_with(std::span<const std::byte> bytes, std::string_view text) {
  return bytes.size() >= text.size() &&
         std::ranges::equal(
             bytes.first(text.size()), text, {},
             [](std::byte b) { return std::to_integer<unsigned char>(b); },
             [](char c) { return static_cast<unsigned char>(c); });
}

}  // namespace

// A JSON file may begin with white space; no pickle does.
void PickleMachine::check_start() {
  const auto first = reader_.peek(32);
  if (first.empty()) {
    fail("the file is empty", builder_.advice().write_again);
  }
  if (std::to_integer<std::uint8_t>(first[0]) == static_cast<std::uint8_t>(PickleOpcode::proto)) {
    return;
  }
  const auto is_space = [](std::byte b) {
    return b == std::byte{' '} || b == std::byte{'\n'} || b == std::byte{'\r'} ||
           b == std::byte{'\t'};
  };
  const auto text = first.subspan(
      static_cast<std::size_t>(std::ranges::find_if_not(first, is_space) - first.begin()));
  for (const OtherKind& kind : kOtherKinds) {
    if (starts_with(text, kind.first_bytes)) {
      fail(kind.problem, kind.remedy.empty() ? builder_.advice().right_file : kind.remedy);
    }
  }
  fail("this is not a pickle: it does not begin with byte 80 (hexadecimal)",
       builder_.advice().right_file);
}

void PickleMachine::check_protocol(int protocol) {
  if (protocol < kOldestPickleProtocol) {
    fail(kNotText, kWriteProtocol4);
  }
  if (protocol > kNewestPickleProtocol) {
    fail(fmt::format("pickle protocol {} is newer than 5, the newest supported", protocol),
         kWriteProtocol4);
  }
}

std::string PickleMachine::path_of(std::size_t target) const {
  return pickle_path({stack_, marks_}, target, store_, builder_);
}

void PickleMachine::fail(std::string_view problem, std::string_view remedy) const {
  const std::string path = path_of(stack_.size() - 1);
  throw InputError(reader_.source_name(),
                   fmt::format("byte {}{}{}", opcode_offset_, path.empty() ? "" : ", ", path),
                   problem, remedy);
}

void PickleMachine::fail_damaged(std::string_view problem) const {
  fail(problem, builder_.advice().damaged);
}

void PickleMachine::fail_in_field(std::size_t container, const FieldProblem& problem) const {
  const std::string path = join_path(path_of(container), problem.field);
  throw InputError(reader_.source_name(),
                   fmt::format("byte {}{}{}", opcode_offset_, path.empty() ? "" : ", ", path),
                   problem.problem, builder_.advice().implausible);
}

void PickleMachine::check_memory() {
  next_check_ = opcode_offset_ + kMemoryCheckEvery;
  const std::uint64_t used = builder_.memory() + stack_.capacity() * sizeof(PickleValue);
  if (used > most_memory(opcode_offset_)) {
    fail("what was read so far takes more memory than any real snapshot of its size",
         builder_.advice().implausible);
  }
}

void PickleMachine::fail_truncated(std::uint64_t end) const {
  const std::string path = path_of(stack_.size() - 1);
  throw InputError(reader_.source_name(),
                   fmt::format("byte {}{}{}", end, path.empty() ? "" : ", ", path),
                   "the file is truncated: it ends in the middle of the pickle",
                   "copy it again; if the process was killed while writing, record it again");
}

}  // namespace highwater::detail
