// The PickleMachine's error messages, first of all for files that are not pickles.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "traces/formats/pickle/pickle_machine.hpp"
#include "traces/formats/pickle/pickle_opcodes.hpp"
#include "traces/formats/snapshot/snapshot_path.hpp"

namespace highwater::detail {
namespace {

constexpr std::string_view kRedump =
    "write the snapshot again with torch.cuda.memory._dump_snapshot(file)";

struct OtherKind {
  std::string_view first_bytes;
  std::string_view problem;
  std::string_view remedy;
};

constexpr std::string_view kNotJson = "this is a JSON file, not a pickle";
constexpr std::string_view kNotText =
    "a text pickle (protocol 0 or 1), which Highwater cannot read";
constexpr std::string_view kRepickle =
    "load it in Python and write it with pickle.dump(snapshot, file, protocol=4)";
constexpr std::string_view kUsePickle =
    "use the .pickle file that torch.cuda.memory._dump_snapshot(file) wrote";

constexpr std::array<OtherKind, 12> kOtherKinds{{
    {"PK\x03\x04", "this is a zip file, as torch.save writes, not a plain pickle",
     "write the snapshot with torch.cuda.memory._dump_snapshot(file) or pickle.dump instead"},
    {"{", kNotJson, kUsePickle},
    {"[", kNotJson, kUsePickle},
    {"version https://git-lfs", "this is a Git LFS pointer, not the file itself",
     "fetch the file with git lfs pull"},
    {"<", "this is an HTML or XML page, not a pickle", kUsePickle},
    {"(d", kNotText, kRepickle},
    {"(l", kNotText, kRepickle},
    {"}q", kNotText, kRepickle},
    {"]q", kNotText, kRepickle},
    {"\x1f\x8b", "this gzip file contains another gzip file", "decompress it first"},
    {"BZh", "this is a bzip2 file", "decompress it with bunzip2 first"},
    {"(", kNotText, kRepickle},
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
    fail("the file is empty", kRedump);
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
      fail(kind.problem, kind.remedy);
    }
  }
  fail("this is not a pickle: it does not begin with byte 80 (hexadecimal)", kUsePickle);
}

void PickleMachine::check_protocol(int protocol) {
  if (protocol < kOldestPickleProtocol) {
    fail(kNotText, kRepickle);
  }
  if (protocol > kNewestPickleProtocol) {
    fail(fmt::format("pickle protocol {} is newer than 5, the newest supported", protocol),
         kRepickle);
  }
}

void PickleMachine::fail(std::string_view problem, std::string_view remedy) const {
  const std::string path = snapshot_path(stack_, marks_, stack_.size() - 1, store_);
  throw InputError(reader_.source_name(),
                   fmt::format("byte {}{}{}", opcode_offset_, path.empty() ? "" : ", ", path),
                   problem, remedy);
}

void PickleMachine::fail_damaged(std::string_view problem) const {
  fail(problem, "the file is damaged or not a genuine snapshot: copy it again, or record it again");
}

void PickleMachine::fail_in_field(std::size_t container, const FieldProblem& problem) const {
  const std::string path =
      join_path(snapshot_path(stack_, marks_, container, store_), problem.field);
  throw InputError(reader_.source_name(),
                   fmt::format("byte {}{}{}", opcode_offset_, path.empty() ? "" : ", ", path),
                   problem.problem, "PyTorch never writes such a snapshot: record it again");
}

void PickleMachine::fail_truncated(std::uint64_t end) const {
  const std::string path = snapshot_path(stack_, marks_, stack_.size() - 1, store_);
  throw InputError(reader_.source_name(),
                   fmt::format("byte {}{}{}", end, path.empty() ? "" : ", ", path),
                   "the file is truncated: it ends in the middle of the pickle",
                   "copy it again; if the process was killed while writing, record it again");
}

}  // namespace highwater::detail
