// A program whose sizes are formulas of named integers (batch, seq, ...): one request trace that
// stands for the runs of a script at every batch and length.
//
// `highwater fit` finds it from a few recordings of the script, a .hwp file holds it. A size is
//
//     unit * factor * floor(sum of terms), held between `least` and `most`,
//
// where factor and terms are products of powers of the integers and coefficients are fractions:
// polynomials, sizes rounded up or down to multiples, and sizes that saturate. A workspace of a
// kernel may exist above a threshold only (`presence`), and grow again far beyond its limit
// (`resume`).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/request_trace.hpp"
#include "traces/units.hpp"

namespace highwater {

/// The power of each named integer in a product, in their order.
using Exponents = std::vector<std::uint8_t>;

struct SizeTerm {
  Exponents exponents;
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;  ///< > 0

  bool operator==(const SizeTerm&) const = default;
};

/// Why a formula is believed.
enum class FormulaBasis : std::uint8_t {
  confirmed,   ///< gives the size of every recording, of which there are more than it has choices
  determined,  ///< gives the size of every recording, and so does another formula
  estimated,   ///< no formula gives the size of every recording: a line through two of them
};

constexpr std::size_t kFormulaBasisCount = 3;

/// "confirmed", "determined", "estimated".
std::string_view to_string(FormulaBasis basis);

struct SizeFormula {
  std::vector<SizeTerm> terms;
  Exponents factor;  ///< empty: 1
  std::uint64_t unit = 1;
  std::optional<Bytes> least;
  std::optional<Bytes> most;
  std::uint64_t resume = 0;  ///< beyond `most`: unit * ceil(factor * floor(sum) / resume); 0: never
  std::vector<SizeTerm> presence;  ///< no request where their sum is below 1; empty: always one
  FormulaBasis basis = FormulaBasis::confirmed;
  Bytes largest_recorded;

  bool operator==(const SizeFormula&) const = default;
};

/// Peaks of a run: requested, allocated, active, reserved.
using PeakBytes = std::array<Bytes, 4>;

/// One recording that the program was made from, and how well the program gives it again.
struct FittedPoint {
  std::string name;                   ///< its file
  std::vector<std::uint64_t> values;  ///< of the integers, in their order
  bool held_out = false;       ///< the sizes were found without it first, to see whether they hold
  std::uint64_t requests = 0;  ///< allocations
  std::uint64_t other_sizes = 0;  ///< allocations whose size the program gets wrong
  std::uint64_t missing = 0;      ///< allocations that the program lacks
  std::uint64_t additional = 0;   ///< allocations that only the program has
  std::uint64_t reordered = 0;    ///< frees that come elsewhere
  PeakBytes recorded{};
  PeakBytes predicted{};

  [[nodiscard]] bool has_same_requests() const {
    return other_sizes == 0 && missing == 0 && additional == 0 && reordered == 0;
  }

  /// Whether the program gives the peaks of this recording again. Its small requests may differ all
  /// the same.
  [[nodiscard]] bool is_reproduced() const { return recorded == predicted; }

  bool operator==(const FittedPoint&) const = default;
};

/// What the program said of the recording that was held out, before it was told.
struct HeldOutCheck {
  std::uint64_t point = 0;  ///< index into ScalableProgram::points
  std::uint64_t other_sizes = 0;
  std::uint64_t unconfirmed = 0;  ///< of all that differ: what the others left open, since their
                                  ///< formulas are not confirmed, or their sums too short for the
                                  ///< workspaces that they have here
  std::uint64_t missing = 0;
  std::uint64_t additional = 0;
  PeakBytes predicted{};

  /// Requests that came out differently although nothing spoke against what the others said.
  [[nodiscard]] std::uint64_t wrong() const {
    return other_sizes - unconfirmed + missing + additional;
  }

  bool operator==(const HeldOutCheck&) const = default;
};

/// Requests that not every recording makes.
struct StructureChange {
  std::string phase;                  ///< "backward"
  std::string site;                   ///< who asks
  std::vector<std::uint64_t> counts;  ///< by point: how many such requests
  Bytes largest;                      ///< of one of them, anywhere

  bool operator==(const StructureChange&) const = default;
};

/// What is the same in every recording and no integer of the program, so that it holds for nothing
/// else: "GPU" is "h100-80", "adapters" are "LORA".
struct FixedCondition {
  std::string name;
  std::string value;

  bool operator==(const FixedCondition&) const = default;
};

struct ScalableProgram {
  std::vector<std::string> integers;
  std::vector<FittedPoint> points;
  std::size_t base = 0;  ///< the point whose requests these are
  std::optional<HeldOutCheck> check;
  std::vector<FixedCondition> conditions;  ///< empty where the recordings do not tell any
  std::vector<SizeFormula> formulas;
  std::vector<StructureChange> changes;
  RequestTrace requests;  ///< the `value` of an alloc is an index into `formulas`
};

}  // namespace highwater
