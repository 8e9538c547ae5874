#include "traces/formats/binary/binary_program.hpp"

#include <limits>

#include "traces/formats/binary/binary_requests.hpp"

namespace highwater {
namespace {

constexpr std::uint64_t kMostIntegers = 16;
constexpr std::uint64_t kMostTerms = 16;
constexpr std::uint64_t kLargestExponent = 8;

/// A check of earlier releases is 1 and does not count them.
constexpr std::uint8_t kCheckWithUnconfirmed = 2;

/// Added to the byte of the check where conditions follow it, so that a file without them is what
/// earlier releases wrote.
constexpr std::uint8_t kWithConditions = 3;

void put_exponents(BinaryWriter& out, const Exponents& exponents) {
  for (const std::uint8_t exponent : exponents) {
    out.put_byte(exponent);
  }
}

void put_peaks(BinaryWriter& out, const PeakBytes& peaks) {
  for (const Bytes peak : peaks) {
    out.put_size(peak.count());
  }
}

void put_limit(BinaryWriter& out, const std::optional<Bytes>& limit) {
  out.put_byte(limit ? 1 : 0);
  if (limit) {
    out.put_size(limit->count());
  }
}

void put_terms(BinaryWriter& out, const std::vector<SizeTerm>& terms) {
  out.put(terms.size());
  for (const SizeTerm& term : terms) {
    put_exponents(out, term.exponents);
    out.put_signed(term.numerator);
    out.put_signed(term.denominator);
  }
}

void put_formula(BinaryWriter& out, const SizeFormula& formula) {
  put_terms(out, formula.terms);
  out.put_byte(formula.factor.empty() ? 0 : 1);
  put_exponents(out, formula.factor);
  out.put(formula.unit);
  put_limit(out, formula.least);
  put_limit(out, formula.most);
  // In the byte of the basis, so that a file without them is what earlier releases wrote.
  const bool has_threshold = formula.resume != 0 || !formula.presence.empty();
  out.put_byte(static_cast<std::uint8_t>(static_cast<std::uint8_t>(formula.basis) +
                                         (has_threshold ? kFormulaBasisCount : 0)));
  if (has_threshold) {
    out.put(formula.resume);
    put_terms(out, formula.presence);
  }
  out.put_size(formula.largest_recorded.count());
}

void put_point(BinaryWriter& out, const FittedPoint& point) {
  out.put_string(point.name);
  for (const std::uint64_t value : point.values) {
    out.put(value);
  }
  out.put_byte(point.held_out ? 1 : 0);
  for (const std::uint64_t count :
       {point.requests, point.other_sizes, point.missing, point.additional, point.reordered}) {
    out.put(count);
  }
  put_peaks(out, point.recorded);
  put_peaks(out, point.predicted);
}

void put_conditions(BinaryWriter& out, const std::vector<FixedCondition>& conditions) {
  out.put(conditions.size());
  for (const FixedCondition& condition : conditions) {
    out.put_string(condition.name);
    out.put_string(condition.value);
  }
}

void put_check(BinaryWriter& out, const ScalableProgram& program) {
  const std::optional<HeldOutCheck>& check = program.check;
  const bool has_conditions = !program.conditions.empty();
  out.put_byte(static_cast<std::uint8_t>((check ? kCheckWithUnconfirmed : 0) +
                                         (has_conditions ? kWithConditions : 0)));
  if (check) {
    for (const std::uint64_t count : {check->point, check->other_sizes, check->missing,
                                      check->additional, check->unconfirmed}) {
      out.put(count);
    }
    put_peaks(out, check->predicted);
  }
  if (has_conditions) {
    put_conditions(out, program.conditions);
  }
}

void put_change(BinaryWriter& out, const StructureChange& change) {
  out.put_string(change.phase);
  out.put_string(change.site);
  for (const std::uint64_t count : change.counts) {
    out.put(count);
  }
  out.put_size(change.largest.count());
}

/// Reads what follows the header, and holds every reference to what the file has.
class ProgramReader {
 public:
  explicit ProgramReader(BinaryReader& in) : in_(in) {}

  ScalableProgram get_all() {
    get_integers();
    get_list([&] { program_.points.push_back(get_point()); });
    program_.base = in_.number_below(program_.points.size(), "recording");
    get_check_and_conditions();
    get_list([&] { program_.formulas.push_back(get_formula()); });
    get_list([&] { program_.changes.push_back(get_change()); });
    program_.requests = get_requests(in_);
    check_formulas();
    return std::move(program_);
  }

 private:
  /// An element takes bytes of the file, so a wrong count ends with it.
  template <class GetOne>
  void get_list(const GetOne& get_one) {
    for (std::uint64_t left = in_.number(); left > 0; --left) {
      get_one();
    }
  }

  void get_integers() {
    for (std::uint64_t left = in_.number_below(kMostIntegers + 1, "number of integers"); left > 0;
         --left) {
      program_.integers.push_back(in_.string());
    }
    if (program_.integers.empty()) {
      in_.fail("a program without a named integer");
    }
  }

  bool flag(const char* what) { return in_.number_below(2, what) == 1; }

  Exponents get_exponents() {
    Exponents exponents;
    for (std::size_t i = 0; i < program_.integers.size(); ++i) {
      exponents.push_back(
          static_cast<std::uint8_t>(in_.number_below(kLargestExponent + 1, "exponent")));
    }
    return exponents;
  }

  PeakBytes get_peaks() {
    PeakBytes peaks;
    for (Bytes& peak : peaks) {
      peak = Bytes{in_.size()};
    }
    return peaks;
  }

  std::optional<Bytes> get_limit() {
    return flag("limit of a size") ? std::optional(Bytes{in_.size()}) : std::nullopt;
  }

  SizeTerm get_term() {
    SizeTerm term;
    term.exponents = get_exponents();
    term.numerator = in_.signed_number();
    term.denominator = in_.signed_number();
    if (term.denominator <= 0) {
      in_.fail("a coefficient whose denominator is not positive");
    }
    return term;
  }

  std::vector<SizeTerm> get_terms() {
    std::vector<SizeTerm> terms;
    for (std::uint64_t left = in_.number_below(kMostTerms + 1, "number of terms"); left > 0;
         --left) {
      terms.push_back(get_term());
    }
    return terms;
  }

  void get_basis(SizeFormula& formula) {
    const std::uint64_t basis = in_.number_below(2 * kFormulaBasisCount, "basis");
    formula.basis = static_cast<FormulaBasis>(basis % kFormulaBasisCount);
    if (basis >= kFormulaBasisCount) {
      formula.resume = in_.number();
      formula.presence = get_terms();
    }
  }

  SizeFormula get_formula() {
    SizeFormula formula;
    formula.terms = get_terms();
    if (flag("factor of a size")) {
      formula.factor = get_exponents();
    }
    formula.unit = in_.number();
    formula.least = get_limit();
    formula.most = get_limit();
    get_basis(formula);
    formula.largest_recorded = Bytes{in_.size()};
    in_.keep(sizeof(SizeFormula) +
             (formula.terms.size() + formula.presence.size()) * sizeof(SizeTerm));
    return formula;
  }

  FittedPoint get_point() {
    FittedPoint point;
    point.name = in_.string();
    for (std::size_t i = 0; i < program_.integers.size(); ++i) {
      point.values.push_back(in_.number());
    }
    point.held_out = flag("part of a recording");
    for (std::uint64_t* count : {&point.requests, &point.other_sizes, &point.missing,
                                 &point.additional, &point.reordered}) {
      *count = in_.number();
    }
    point.recorded = get_peaks();
    point.predicted = get_peaks();
    in_.keep(sizeof(FittedPoint));
    return point;
  }

  void get_check_and_conditions() {
    const std::uint64_t form = in_.number_below(2 * kWithConditions, "check");
    program_.check = get_check(form % kWithConditions);
    if (form >= kWithConditions) {
      get_list([&] {
        FixedCondition condition{in_.string(), in_.string()};
        in_.keep(sizeof(FixedCondition));
        program_.conditions.push_back(std::move(condition));
      });
    }
  }

  std::optional<HeldOutCheck> get_check(std::uint64_t form) {
    if (form == 0) {
      return std::nullopt;
    }
    HeldOutCheck check;
    check.point = in_.number_below(program_.points.size(), "recording");
    for (std::uint64_t* count : {&check.other_sizes, &check.missing, &check.additional}) {
      *count = in_.number();
    }
    check.unconfirmed = form == kCheckWithUnconfirmed ? in_.number() : 0;
    if (check.unconfirmed > check.other_sizes + check.missing + check.additional) {
      in_.fail("a check that leaves more open than differs");
    }
    check.predicted = get_peaks();
    return check;
  }

  StructureChange get_change() {
    StructureChange change;
    change.phase = in_.string();
    change.site = in_.string();
    for (std::size_t i = 0; i < program_.points.size(); ++i) {
      change.counts.push_back(in_.number());
    }
    change.largest = Bytes{in_.size()};
    in_.keep(sizeof(StructureChange));
    return change;
  }

  void check_formulas() {
    for (const Event& event : program_.requests.events) {
      if (event.kind == EventKind::alloc && event.value >= program_.formulas.size()) {
        in_.fail("reference to a formula that the program does not have");
      }
    }
  }

  BinaryReader& in_;
  ScalableProgram program_;
};

}  // namespace

void put_program(BinaryWriter& out, const ScalableProgram& program) {
  out.put(program.integers.size());
  for (const std::string& name : program.integers) {
    out.put_string(name);
  }
  out.put(program.points.size());
  for (const FittedPoint& point : program.points) {
    put_point(out, point);
  }
  out.put(program.base);
  put_check(out, program);
  out.put(program.formulas.size());
  for (const SizeFormula& formula : program.formulas) {
    put_formula(out, formula);
  }
  out.put(program.changes.size());
  for (const StructureChange& change : program.changes) {
    put_change(out, change);
  }
  put_requests(out, program.requests);
}

ScalableProgram get_program(BinaryReader& in) {
  return ProgramReader(in).get_all();
}

}  // namespace highwater
