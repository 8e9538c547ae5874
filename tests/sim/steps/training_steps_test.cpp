// Steps: found where they are, not found where there are none.
#include "sim/steps/training_steps.hpp"

#include <algorithm>
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/steps/evenly_spaced.hpp"
#include "sim/steps/repetition.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/format_io.hpp"
#include "tests/support/random_traces.hpp"

using namespace highwater;

namespace {

using Symbols = std::vector<std::uint32_t>;

Symbols symbols_of(std::string_view text) {
  return {text.begin(), text.end()};
}

/// `length` symbols, each of them once, but at each of `marks` the symbols 1 to `marked_by`.
Symbols marked(const std::vector<std::size_t>& marks, std::size_t length, std::size_t marked_by) {
  Symbols symbols(length);
  for (std::size_t i = 0; i < length; ++i) {
    symbols[i] = static_cast<std::uint32_t>(10 + i);
  }
  for (const std::size_t mark : marks) {
    for (std::size_t i = 0; i < marked_by; ++i) {
      symbols[mark + i] = static_cast<std::uint32_t>(1 + i);
    }
  }
  return symbols;
}

/// Writes text traces of made-up training loops.
class LoopWriter {
 public:
  explicit LoopWriter(std::string head = "conf \n") : text_(std::move(head)) {}

  std::string alloc(std::uint64_t bytes, const std::string& stack = "") {
    std::string name = fmt::format("b{}", next_++);
    text_ += fmt::format("a {} {} 0{}\n", name, bytes, stack.empty() ? "" : " @" + stack);
    return name;
  }

  void free(const std::string& name) { text_ += "f " + name + "\n"; }

  void line(const std::string& text) { text_ += text + "\n"; }

  /// Parameters that stay, each of its own size.
  void start_up(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      alloc(100000 + 1000 * i);
    }
  }

  /// Twelve requests: 5 activations of `length` each, 5 gradients that free them, 2 temporaries.
  void step(std::uint64_t length, bool stacks = false) {
    const auto at = [&](int i) { return stacks ? std::to_string(i) : std::string(); };
    std::vector<std::string> activations;
    std::vector<std::string> gradients;
    for (int i = 0; i < 5; ++i) {
      activations.push_back(alloc(length * static_cast<std::uint64_t>(i + 1), at(i)));
    }
    for (int i = 0; i < 5; ++i) {
      gradients.push_back(alloc(100000 + 1000 * static_cast<std::uint64_t>(i), at(i)));
      free(activations.back());
      activations.pop_back();
    }
    for (int i = 0; i < 2; ++i) {
      free(alloc(777 + static_cast<std::uint64_t>(i), at(i)));
    }
    for (const std::string& gradient : gradients) {
      free(gradient);
    }
  }

  [[nodiscard]] RequestTrace trace() const { return test::parse_text(text_); }

 private:
  std::string text_;
  std::size_t next_ = 0;
};

/// Requests of the trace before event `event`.
std::size_t requests_before(const RequestTrace& trace, std::size_t event) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < event; ++i) {
    count += trace.events[i].kind == EventKind::alloc ? 1U : 0U;
  }
  return count;
}

void check_adjoining(const Steps& steps, std::size_t events) {
  for (std::size_t i = 0; i < steps.steps.size(); ++i) {
    CHECK(steps.steps[i].begin < steps.steps[i].end);
    CHECK(steps.steps[i].end <= events);
    CHECK((i == 0 || steps.steps[i - 1].end == steps.steps[i].begin));
  }
}

}  // namespace

TEST_CASE("repetition: between a start-up and a tail", "[sim][steps]") {
  CHECK(longest_repetition(symbols_of("xyzabcabcabcabcq")) == Repetition{3, 15, 3});
  CHECK(longest_repetition(symbols_of("xyzzcabcabcabcabq")) == Repetition{4, 16, 3});
  // 18 of 20 are nine tenths, 17 are less: the shorter run with the smaller period counts, or not.
  const std::string longest = "abcabcabcabcabcabcab";
  CHECK(longest_repetition(symbols_of(longest + std::string(18, 'z'))) == Repetition{20, 38, 1});
  CHECK(longest_repetition(symbols_of(longest + std::string(17, 'z'))) == Repetition{0, 20, 3});
  CHECK_FALSE(longest_repetition(symbols_of("abcdefgh")).has_value());
  CHECK_FALSE(longest_repetition({}).has_value());
}

TEST_CASE("repetition: the whole step, not the micro-batches in it", "[sim][steps]") {
  CHECK(longest_repetition(symbols_of("ababababZababababZababababZ")) == Repetition{0, 27, 9});
}

TEST_CASE("repetition: as long as any that crosses an anchor", "[sim][steps][property]") {
  test::Dice dice(2);
  for (int input = 0; input < 300; ++input) {
    Symbols symbols;
    for (std::uint64_t left = dice.below(40); left > 0; --left) {
      symbols.push_back(static_cast<std::uint32_t>(dice.below(2)));
    }
    std::size_t longest = 0;
    for (std::size_t period = 1; period < symbols.size(); ++period) {
      std::size_t run = 0;
      for (std::size_t i = 0; i + period < symbols.size(); ++i) {
        run = symbols[i] == symbols[i + period] ? run + 1 : 0;
        longest = run >= period ? std::max(longest, run + period) : longest;
      }
    }
    const auto found = longest_repetition(symbols);
    const std::size_t length = found ? found->length() : 0;
    CHECK(length <= longest);
    CHECK((longest * 4 <= symbols.size() || length * 10 >= longest * 9));
    for (std::size_t i = found ? found->begin : 0; found && i + found->period < found->end; ++i) {
      CHECK(symbols[i] == symbols[i + found->period]);
    }
  }
}

TEST_CASE("evenly spaced: even distances in spite of noise", "[sim][steps]") {
  Symbols symbols;
  std::uint32_t noise = 10;
  for (int step = 0; step < 6; ++step) {
    symbols.push_back(1);
    for (int i = 0; i < 20; ++i) {
      symbols.push_back(noise++);
    }
    symbols.push_back(2);
  }
  CHECK(evenly_spaced(symbols) == std::vector<std::size_t>{0, 22, 44, 66, 88, 110});
  CHECK(evenly_spaced(Symbols{}).empty());
  CHECK(evenly_spaced(symbols_of("abcabcabcabcabc")).empty());  // a loop inside of a step
}

TEST_CASE("evenly spaced: four marks, eight requests apart, by two sizes, over half the run",
          "[sim][steps]") {
  using Marks = std::vector<std::size_t>;
  const Marks marks{0, 8, 16, 24};
  CHECK(evenly_spaced(marked(marks, 26, 2)) == marks);
  CHECK(evenly_spaced(marked(marks, 26, 1)).empty());
  CHECK(evenly_spaced(marked({0, 8, 16}, 18, 2)).empty());
  CHECK(evenly_spaced(marked({0, 7, 14, 21}, 23, 2)).empty());
  CHECK(evenly_spaced(marked(marks, 48, 2)) == marks);
  CHECK(evenly_spaced(marked(marks, 49, 2)).empty());
}

TEST_CASE("evenly spaced: a distance may be 5 % off, and one of five distances more",
          "[sim][steps]") {
  using Marks = std::vector<std::size_t>;
  CHECK(evenly_spaced(marked({0, 20, 40, 61}, 63, 2)) == Marks{0, 20, 40, 61});
  CHECK(evenly_spaced(marked({0, 20, 40, 62}, 64, 2)).empty());
  CHECK(evenly_spaced(marked({0, 20, 40, 60, 80, 102}, 104, 2)) == Marks{0, 20, 40, 60, 80});
}

TEST_CASE("evenly spaced: a size that start-up requests as well does not mark steps",
          "[sim][steps]") {
  Symbols symbols{1, 2, 7, 8};  // parameters of the sizes that gradients have later
  std::uint32_t noise = 10;
  for (int step = 0; step < 6; ++step) {
    for (int i = 0; i < 20; ++i) {
      symbols.push_back(noise++);
    }
    symbols.push_back(1);
    symbols.push_back(2);
  }
  CHECK(evenly_spaced(symbols) == std::vector<std::size_t>{24, 46, 68, 90, 112, 134});
}

TEST_CASE("evenly spaced: among many symbols some are even by chance", "[sim][steps]") {
  test::Dice dice(9);
  Symbols symbols;
  for (int i = 0; i < 40000; ++i) {
    symbols.push_back(static_cast<std::uint32_t>(dice.below(8000)));
  }
  CHECK(evenly_spaced(symbols).empty());
}

TEST_CASE("periods: equal steps behind a start-up, cut where the least is alive", "[sim][steps]") {
  LoopWriter loop;
  loop.start_up(7);
  for (int i = 0; i < 5; ++i) {
    loop.step(5000);
  }
  const RequestTrace trace = loop.trace();
  const Steps steps = find_steps(trace);
  CHECK(steps.source == StepSource::repetition);
  CHECK(steps.allocations_per_step == 12);
  REQUIRE(steps.steps.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(requests_before(trace, steps.steps[i].begin) == 7 + 12 * i);
    CHECK(steps.steps[i].complete);
    CHECK(steps.steps[i].number == i);
  }
  CHECK(steps.steps.back().end == trace.events.size());
  CHECK(steps.confidence == Approx(60.0 / 67));
}

TEST_CASE("periods: a recording that begins and ends inside of a step", "[sim][steps]") {
  LoopWriter loop;
  for (int i = 0; i < 5; ++i) {
    loop.step(5000);
  }
  const RequestTrace whole = loop.trace();
  RequestTrace part;
  part.allocation_count = whole.allocation_count;
  for (std::size_t i = 9; i + 12 < whole.events.size(); ++i) {
    part.events.push_back(whole.events[i]);
  }
  const Steps steps = find_steps(part);
  check_adjoining(steps, part.events.size());
  REQUIRE(steps.steps.size() == 4);
  CHECK(steps.steps[0].begin > 0);
  CHECK(requests_before(part, steps.steps[1].begin) - requests_before(part, steps.steps[0].begin) ==
        12);
  CHECK(steps.steps[2].complete);
  CHECK_FALSE(steps.steps[3].complete);
}

TEST_CASE("periods: shapes that vary, with call stacks", "[sim][steps]") {
  std::string head = "conf \n";
  for (int i = 0; i < 5; ++i) {
    head += fmt::format("frame {} {} train.py\tforward{}\nstack {} {}\n", i, i + 1, i, i, i);
  }
  LoopWriter loop(head);
  loop.start_up(3);
  for (const std::uint64_t length : {5000U, 7000U, 6000U, 9000U, 5500U}) {
    loop.step(length, true);
  }
  const Steps steps = find_steps(loop.trace());
  CHECK(steps.source == StepSource::repetition);
  CHECK(steps.steps.size() == 5);
  CHECK(steps.allocations_per_step == 12);
  CHECK(steps.confidence == Approx(60.0 / 63));
}

TEST_CASE("periods: shapes that vary, without call stacks, by the gradients", "[sim][steps]") {
  LoopWriter loop;
  loop.start_up(3);
  for (const std::uint64_t length : {5000U, 7000U, 6000U, 9000U, 5500U, 8000U, 4000U}) {
    loop.step(length);
  }
  const RequestTrace trace = loop.trace();
  const Steps steps = find_steps(trace);
  CHECK(steps.source == StepSource::evenly_spaced);
  CHECK(steps.allocations_per_step == 12);
  REQUIRE(steps.steps.size() == 5);  // between the seven, six cuts
  CHECK(requests_before(trace, steps.steps[0].begin) == 15);
  CHECK(steps.confidence < 1);
  CHECK(steps.confidence > 0.3);
}

TEST_CASE("periods: the optimizer's own call stacks", "[sim][steps]") {
  LoopWriter loop(
      "conf \nframe 0 9 /site-packages/torch/optim/adamw.py\tstep\n"
      "frame 1 3 train.py\tmain\nstack 0 0 1\nstack 1 1\n");
  for (int step = 0; step < 3; ++step) {
    std::vector<std::string> names;
    for (std::uint64_t i = 0; i < 10; ++i) {
      names.push_back(loop.alloc(1000 * (i + 1) + static_cast<std::uint64_t>(step) * 512, "1"));
    }
    for (const std::string& name : names) {
      loop.free(name);
    }
    loop.free(loop.alloc(5000, "0"));
    loop.free(loop.alloc(6000, "0"));
  }
  loop.alloc(1000, "1");
  const RequestTrace trace = loop.trace();
  const Steps steps = find_steps(trace);
  CHECK(steps.source == StepSource::optimizer);
  REQUIRE(steps.steps.size() == 3);
  CHECK(requests_before(trace, steps.steps[0].begin) == 12);
  CHECK(requests_before(trace, steps.steps[1].begin) == 24);
  CHECK(requests_before(trace, steps.steps[2].begin) == 36);
  CHECK(steps.steps[1].complete);
  CHECK_FALSE(steps.steps[2].complete);
}

TEST_CASE("periods: markers and known boundaries are taken as they are", "[sim][steps]") {
  const RequestTrace marked =
      test::parse_text("conf \na p 1000 0\nstep 7\na x 10 0\nf x\nstep 8\na y 10 0\nf y\nstep 9\n");
  const Steps steps = find_steps(marked);
  CHECK(steps.source == StepSource::markers);
  CHECK(steps.confidence == 1);
  REQUIRE(steps.steps.size() == 3);
  CHECK(steps.steps[1].number == 8);
  CHECK(steps.steps[1].begin == 4);
  CHECK(steps.steps[1].complete);
  CHECK_FALSE(steps.steps[2].complete);
  const RequestTrace plain = test::parse_text("conf \na x 1 0\nf x\na y 2 0\nf y\na z 3 0\n");
  const std::vector<std::size_t> known{0, 2};
  const Steps bounded = find_steps(plain, known);
  CHECK(bounded.source == StepSource::boundaries);
  REQUIRE(bounded.steps.size() == 2);
  CHECK(bounded.steps[0].end == 2);
  CHECK(bounded.steps[1].end == 5);
  CHECK(bounded.steps[1].complete);
}

TEST_CASE("periods: where nothing repeats there are no steps", "[sim][steps]") {
  CHECK(find_steps(RequestTrace{}).steps.empty());
  LoopWriter loop;
  test::Dice dice(4);
  for (int i = 0; i < 400; ++i) {
    loop.alloc(512 * (1 + dice.below(30)));
  }
  const Steps steps = find_steps(loop.trace());
  CHECK(steps.source == StepSource::none);
  CHECK(steps.steps.empty());
  CHECK(steps.confidence == 0);
  LoopWriter constant;
  for (int i = 0; i < 100; ++i) {
    constant.alloc(512);
  }
  CHECK(find_steps(constant.trace()).steps.empty());
}

TEST_CASE("periods: the layers of a forward pass are no steps", "[sim][steps]") {
  LoopWriter forward;
  for (int layer = 0; layer < 20; ++layer) {
    for (std::uint64_t i = 1; i < 7; ++i) {
      forward.alloc(i * 1000);  // kept for the backward pass
    }
    forward.free(forward.alloc(5000));
  }
  CHECK(find_steps(forward.trace()).steps.empty());
}

TEST_CASE("periods: any trace has an answer in order", "[sim][steps][property]") {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    const RequestTrace trace = test::random_requests(seed);
    const Steps steps = find_steps(trace);
    CHECK(steps.confidence >= 0);
    CHECK(steps.confidence <= 1);
    check_adjoining(steps, trace.events.size());
  }
}
