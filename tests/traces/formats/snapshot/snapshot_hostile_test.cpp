// Rules: any bytes whatever are read or refused with a place; they never harm.
#include <random>

#include <catch2/catch.hpp>

#include "tests/support/snapshot_reading.hpp"

using namespace highwater;
using namespace highwater::test;
using Catch::Matchers::Contains;

namespace {

constexpr int kMutations = 3000;
constexpr StackMode kModes[] = {StackMode::skip, StackMode::keep};

// Anything but an InputError escapes and fails the test.
void read_or_refuse(const Bytestring& bytes, StackMode stacks) {
  const auto error = error_of(bytes, stacks);
  if (error && (error->where().empty() ||
                std::string_view(error->what()).find('\n') != std::string_view::npos)) {
    FAIL("an error without a place, or of several lines: " << error->what());
  }
}

PyValue old_snapshot() {
  const PyValue use = PyValue::dict({{"addr", 512}, {"real_size", 3}, {"frames", PyValue()}});
  const PyValue block = PyValue::dict(
      {{"size", 2097152}, {"state", "active_allocated"}, {"history", PyValue::list({use, use})}});
  return PyValue::list({sample_segment().with("blocks", PyValue::list({block}))});
}

std::vector<Bytestring> samples() {
  const PyValue shared = PyValue::list({sample_frame(), sample_frame()});
  const PyValue entry =
      sample_entry().with("frames", shared).with("pool_id", PyValue::tuple({0, 1}));
  const PyValue many = sample_snapshot().with(
      "device_traces", PyValue::list({PyValue::list({entry, entry, entry.with("action", "new")})}));
  std::vector<Bytestring> all;
  for (const PyValue& value : {sample_snapshot(), old_snapshot(), many}) {
    all.push_back(write_pickle(value, Dialect::python));
    all.push_back(write_pickle(value, Dialect::cpp));
  }
  return all;
}

/// One random edit: a bit, a byte, a run of bytes, a splice, or a length field.
class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  Bytestring mutate(Bytestring bytes, const Bytestring& other) {
    const std::size_t edits = 1 + below(4);
    for (std::size_t i = 0; i < edits && !bytes.empty(); ++i) {
      edit(bytes, other);
    }
    return bytes;
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }

  static Bytestring::iterator at(Bytestring& bytes, std::size_t i) {
    return bytes.begin() + static_cast<std::ptrdiff_t>(i);
  }

  void edit(Bytestring& bytes, const Bytestring& other) {
    const std::size_t place = below(bytes.size());
    const std::size_t length = std::min(bytes.size() - place, 1 + below(16));
    switch (below(6)) {
      case 0:
        bytes[place] ^= static_cast<std::byte>(1U << below(8));
        break;
      case 1:
        bytes.insert(at(bytes, place), static_cast<std::byte>(below(256)));
        break;
      case 2:
        bytes.erase(at(bytes, place), at(bytes, place + length));
        break;
      case 3: {
        const std::size_t from = below(other.size());
        const std::size_t n = std::min(other.size() - from, 1 + below(64));
        const Bytestring piece(other.begin() + static_cast<std::ptrdiff_t>(from),
                               other.begin() + static_cast<std::ptrdiff_t>(from + n));
        bytes.insert(at(bytes, place), piece.begin(), piece.end());
        break;
      }
      case 4:  // a length, an index or a number becomes extreme
        std::fill_n(at(bytes, place), std::min(length, std::size_t{8}),
                    below(2) == 0 ? std::byte{0xff} : std::byte{0});
        break;
      default:  // another opcode that is accepted
        bytes[place] = static_cast<std::byte>(kOpcodes[below(kOpcodes.size())]);
    }
  }

  static constexpr std::string_view kOpcodes =
      "(0122NJKMG}dsu]lae)t.qrhjX\x85\x86\x87\x88\x8a\x8b\x8c\x8d\x94";

  std::mt19937 random_;
};

}  // namespace

TEST_CASE("hostile: every prefix of every sample is read or refused", "[traces][snapshot]") {
  for (const Bytestring& sample : samples()) {
    for (std::size_t n = 0; n < sample.size(); ++n) {
      read_or_refuse({sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(n)},
                     kModes[n % 2]);
    }
    CHECK_FALSE(error_of(sample));
  }
}

TEST_CASE("hostile: thousands of damaged samples are read or refused", "[traces][snapshot]") {
  const auto all = samples();
  Mutator mutator(20240607);
  for (int i = 0; i < kMutations; ++i) {
    const auto which = static_cast<std::size_t>(i) % all.size();
    read_or_refuse(mutator.mutate(all[which], all[(which + 1) % all.size()]), kModes[i % 2]);
  }
  SUCCEED();
}

TEST_CASE("hostile: containers that hold themselves are refused, not followed",
          "[traces][snapshot]") {
  const std::string zero(1, '\0');
  const auto text = [](const std::string& word) {
    return std::string("\x8c") + static_cast<char>(word.size()) + word;
  };
  const std::string traces = "}" + text("device_traces");
  const std::string segments = "}" + text("segments");
  CHECK_THAT(refusal(raw("\x80\x04" + traces + "]q" + zero + "h" + zero + "as.")),
             Contains("device_traces[0][0]"));
  CHECK_THAT(refusal(raw("\x80\x04]q" + zero + "h" + zero + "a.")), Contains("found a list"));
  CHECK_THAT(refusal(raw("\x80\x04}q" + zero + text("segments") + "h" + zero + "s.")),
             Contains("expected a list, found a dict"));
  CHECK_THAT(refusal(raw("\x80\x04" + segments + "](}q" + zero + "(" + text("blocks") + "]h" +
                         zero + "a" + text("total_size") + "K\x01" + "ues.")),
             Contains("segments[0]"));
}

TEST_CASE("hostile: lists that multiply by sharing are refused, not expanded",
          "[traces][snapshot]") {
  PyValue::List entries;
  for (int i = 0; i < 20000; ++i) {
    entries.push_back(PyValue::dict({{"action", "alloc"}, {"addr", 0}, {"size", 1}}));
  }
  const PyValue trace = PyValue::list(std::move(entries));
  const auto times = [&](std::size_t n) {
    return PyValue::dict({{"device_traces", PyValue::list(PyValue::List(n, trace))}});
  };
  CHECK(refusal(times(1)).empty());
  CHECK_THAT(refusal(times(128)), Contains("outgrow the file"));
  CHECK_THAT(refusal(times(129)), Contains("more than 128 devices"));
}

TEST_CASE("hostile: false lengths and indexes cost nothing", "[traces][snapshot]") {
  using namespace std::string_literals;
  CHECK_THAT(refusal(raw("\x80\x04X\xff\xff\xff\x7f"s)), Contains("string of 2147483647 bytes"));
  CHECK_THAT(refusal(raw("\x80\x04X\0\0\x10\0abc"s)), Contains("truncated"));
  CHECK_THAT(refusal(raw("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff"s)), Contains("string of"));
  CHECK_THAT(refusal(raw("\x80\x04\x8b\xff\xff\xff\xff"s)), Contains("integer of"));
  CHECK_THAT(refusal(raw("\x80\x04\x8a\x0a"s)), Contains("integer of 10 bytes"));
  CHECK_THAT(refusal(raw("\x80\x04\x8a\x09\1\1\1\1\1\1\1\1\1"s)), Contains("64 bits"));
  CHECK_THAT(refusal(raw("\x80\x04Nr\xff\xff\xff\xff"s)), Contains("memo slot"));
  CHECK_THAT(refusal(raw("\x80\x04Nq\x01q\x01"s)), Contains("written twice"));
  CHECK_THAT(refusal(raw("\x80\x04h\x05"s)), Contains("before it is written"));
  CHECK_THAT(refusal(raw("\x80\x04"s + std::string(5000, '('))), Contains("1000 levels deep"));
}

TEST_CASE("hostile: opcodes without their operands are refused", "[traces][snapshot]") {
  const auto opcodes = GENERATE(as<std::string>{}, "e", "u", "a", "s", "d", "l", "t", "0", "1", "2",
                                "\x94", "\x85", "\x86", "\x87", "(e", "(u", ".", "(.", "NN.",
                                "N(N(ae", "NNa", "NNNs", "}(Nu", "N(Ne", "N(NNu", "(NaN");
  CAPTURE(opcodes);
  CHECK_FALSE(refusal(raw("\x80\x04" + opcodes + "")).empty());
}

TEST_CASE("hostile: a frame or a stack that changes behind the records is refused",
          "[traces][snapshot]") {
  const auto text = [](const std::string& word) {
    return std::string("\x8c") + static_cast<char>(word.size()) + word;
  };
  const std::string frame = "}\x94" + text("filename") + text("f") + "s";
  const std::string stack = "](" + frame + "e";
  const std::string late = stack + "h" + std::string(1, '\0') + text("line") + "K\x01s";
  const auto error = error_of(raw("\x80\x04" + late), StackMode::keep);
  REQUIRE(error);
  CHECK_THAT(error->what(), Contains("a stack frame changes"));
  CHECK_THAT(refusal(raw("\x80\x04" + stack + "Na")), Contains("holds something else"));
}
