#include "workloads/sources/settings/shell_arithmetic.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>

namespace highwater {
namespace {

using Number = std::optional<std::int64_t>;

constexpr std::size_t kLongestExpression = 4096;
constexpr int kDeepest = 64;

bool is_blank(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

bool is_word_part(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Binary operators with their precedence; longer ones before those that they begin with.
struct Operator {
  std::string_view text;
  int precedence;
};

constexpr int kPower = 11;
constexpr std::array kOperators{
    Operator{"||", 1}, Operator{"&&", 2}, Operator{"**", kPower}, Operator{"==", 6},
    Operator{"!=", 6}, Operator{"<<", 8}, Operator{">>", 8},      Operator{"<=", 7},
    Operator{">=", 7}, Operator{"|", 3},  Operator{"^", 4},       Operator{"&", 5},
    Operator{"<", 7},  Operator{">", 7},  Operator{"+", 9},       Operator{"-", 9},
    Operator{"*", 10}, Operator{"/", 10}, Operator{"%", 10}};

Number power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  if (exponent < 0 || exponent > 64) {
    return std::nullopt;
  }
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(result, base, &result)) {
      return std::nullopt;
    }
  }
  return result;
}

/// + - * where 64 bits hold the result.
Number within_64_bits(char op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  const bool overflows = op == '+'   ? __builtin_add_overflow(a, b, &result)
                         : op == '-' ? __builtin_sub_overflow(a, b, &result)
                                     : __builtin_mul_overflow(a, b, &result);
  return overflows ? std::nullopt : Number(result);
}

Number quotient(char op, std::int64_t a, std::int64_t b) {
  const bool leaves = a == std::numeric_limits<std::int64_t>::min() && b == -1;
  return b == 0 || leaves ? std::nullopt : Number(op == '/' ? a / b : a % b);
}

Number shifted(char direction, std::int64_t a, std::int64_t bits) {
  if (bits < 0 || bits > 62 || a < 0 ||
      (direction == '<' && a > (std::int64_t{1} << (62 - bits)))) {
    return std::nullopt;
  }
  const auto unsigned_a = static_cast<std::uint64_t>(a);
  return static_cast<std::int64_t>(direction == '<' ? unsigned_a << bits : unsigned_a >> bits);
}

std::int64_t of_bits(char op, std::int64_t a, std::int64_t b) {
  const auto left = static_cast<std::uint64_t>(a);
  const auto right = static_cast<std::uint64_t>(b);
  return static_cast<std::int64_t>(op == '|'   ? left | right
                                   : op == '^' ? left ^ right
                                               : left & right);
}

std::int64_t compared(std::string_view op, std::int64_t a, std::int64_t b) {
  const bool is_true = op == "=="   ? a == b
                       : op == "!=" ? a != b
                       : op == "<=" ? a <= b
                       : op == ">=" ? a >= b
                       : op == "<"  ? a < b
                       : op == ">"  ? a > b
                       : op == "&&" ? (a != 0 && b != 0)
                                    : (a != 0 || b != 0);
  return is_true ? 1 : 0;
}

Number applied(std::string_view op, Number a, Number b) {
  if (!a || !b) {
    return std::nullopt;
  }
  if (op == "**") {
    return power(*a, *b);
  }
  if (op == "<<" || op == ">>") {
    return shifted(op[0], *a, *b);
  }
  if (op == "+" || op == "-" || op == "*") {
    return within_64_bits(op[0], *a, *b);
  }
  if (op == "/" || op == "%") {
    return quotient(op[0], *a, *b);
  }
  return op == "|" || op == "^" || op == "&" ? of_bits(op[0], *a, *b) : compared(op, *a, *b);
}

/// "12", "0x1f", "017", "2#101".
Number literal(std::string_view text) {
  int base = 10;
  if (const std::size_t mark = text.find('#'); mark != std::string_view::npos) {
    std::from_chars(text.data(), text.data() + mark, base);
    text.remove_prefix(mark + 1);
  } else if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
  }
  std::int64_t value = 0;
  if (base < 2 || base > 36) {
    return std::nullopt;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc{} && end == text.data() + text.size() ? Number(value) : std::nullopt;
}

/// Reads one expression. What is not known stays so through the operators; what is no expression
/// stops it.
class Evaluation {
 public:
  Evaluation(std::string_view text, const VariableText& variables, int depth)
      : text_(text), variables_(&variables), depth_(depth) {}

  Number whole() {
    const Number value = conditional();
    skip_blanks();
    return is_wrong_ || at_ < text_.size() ? std::nullopt : value;
  }

 private:
  /// bash's "a ? b : c", which asks only for what it takes.
  Number conditional() {
    const Number test = binary(1);
    if (!takes("?")) {
      return test;
    }
    const Number if_true = conditional();
    is_wrong_ = is_wrong_ || !takes(":");
    const Number if_false = is_wrong_ ? std::nullopt : conditional();
    return test ? (*test != 0 ? if_true : if_false) : std::nullopt;
  }

  Number binary(int least) {
    Number value = unary();
    while (const Operator* const op = is_wrong_ ? nullptr : next_operator(least)) {
      at_ += op->text.size();
      const Number right = binary(op->precedence + (op->precedence == kPower ? 0 : 1));
      value = applied(op->text, value, right);
    }
    return value;
  }

  /// nullptr: none that binds at least so strongly.
  const Operator* next_operator(int least) {
    skip_blanks();
    const std::string_view rest = text_.substr(at_);
    const auto* const found = std::ranges::find_if(
        kOperators, [&](const Operator& op) { return rest.starts_with(op.text); });
    return found == kOperators.end() || found->precedence < least ? nullptr : &*found;
  }

  Number unary() {
    if (++depth_ > kDeepest) {
      is_wrong_ = true;
    }
    const Number value = is_wrong_ ? std::nullopt : signed_value();
    --depth_;
    return value;
  }

  Number signed_value() {
    if (takes("-")) {
      return applied("-", 0, unary());
    }
    if (takes("+")) {
      return unary();
    }
    if (takes("!")) {
      const Number value = unary();
      return value ? Number(*value == 0 ? 1 : 0) : std::nullopt;
    }
    if (takes("~")) {
      const Number value = unary();
      return value ? Number(~*value) : std::nullopt;
    }
    return primary();
  }

  Number primary() {
    if (takes("(")) {
      const Number value = conditional();
      is_wrong_ = is_wrong_ || !takes(")");
      return value;
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_word_part(text_[at_]) || text_[at_] == '#')) {
      ++at_;
    }
    const std::string_view word = text_.substr(begin, at_ - begin);
    is_wrong_ = is_wrong_ || word.empty();
    const bool is_number = !word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) != 0;
    return word.empty() ? std::nullopt : is_number ? literal(word) : variable(std::string(word));
  }

  /// The value of a variable is an expression itself.
  Number variable(const std::string& name) {
    const std::optional<std::string> text = depth_ < kDeepest ? (*variables_)(name) : std::nullopt;
    return text && text->size() <= kLongestExpression
               ? Evaluation(*text, *variables_, depth_ + 1).whole()
               : std::nullopt;
  }

  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) {
      ++at_;
    }
  }

  bool takes(std::string_view token) {
    skip_blanks();
    const bool is_next = text_.substr(at_).starts_with(token);
    at_ += is_next ? token.size() : 0;
    return is_next;
  }

  std::string_view text_;
  const VariableText* variables_;
  std::size_t at_ = 0;
  int depth_;
  bool is_wrong_ = false;
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_blank(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

Number without_variables(std::string_view expression) {
  return arithmetic_value(expression, [](const std::string&) { return std::nullopt; });
}

/// bc divides with as many decimals as `scale` says, by default with none.
Number printed_by_bc(std::string_view program, bool is_whole) {
  program = trimmed(program);
  if (program.starts_with("scale")) {
    const std::size_t end = std::min(program.find(';'), program.size());
    const std::string_view scale = trimmed(program.substr(0, end));
    is_whole = is_whole && scale.ends_with('0') && !scale.ends_with("10");
    program = program.substr(std::min(end + 1, program.size()));
  }
  const bool divides = program.find('/') != std::string_view::npos;
  return is_whole || !divides ? without_variables(program) : std::nullopt;
}

/// "echo 8/2 | bc", "bc <<< 8/2"; -l sets 20 decimals.
Number printed_through_bc(std::string_view command) {
  const std::size_t pipe = command.find("| bc");
  const std::size_t pipe_at = pipe == std::string_view::npos ? command.find("|bc") : pipe;
  if (command.starts_with("echo ") && pipe_at != std::string_view::npos) {
    const bool is_whole = command.substr(pipe_at).find("-l") == std::string_view::npos;
    return printed_by_bc(command.substr(5, pipe_at - 5), is_whole);
  }
  const std::size_t here = command.find("<<<");
  if (command.starts_with("bc") && here != std::string_view::npos) {
    const bool is_whole = command.substr(0, here).find("-l") == std::string_view::npos;
    return printed_by_bc(command.substr(here + 3), is_whole);
  }
  return std::nullopt;
}

/// The text in "NAME(...)", if that is all.
std::optional<std::string_view> argument_of(std::string_view text, std::string_view name) {
  const bool is_call =
      text.starts_with(name) && text.substr(name.size()).starts_with('(') && text.ends_with(')');
  return is_call ? std::optional(text.substr(name.size() + 1, text.size() - name.size() - 2))
                 : std::nullopt;
}

/// Python's "/" makes a fraction unless int() cuts it, and "//" is the whole part.
Number printed_by_python(std::string_view command) {
  const std::size_t at = command.find("-c ");
  const auto printed = command.starts_with("python") && at != std::string_view::npos
                           ? argument_of(trimmed(command.substr(at + 3)), "print")
                           : std::nullopt;
  if (!printed) {
    return std::nullopt;
  }
  const auto cut = argument_of(trimmed(*printed), "int");
  std::string expression(cut.value_or(*printed));
  const bool has_fraction = std::count(expression.begin(), expression.end(), '/') % 2 != 0;
  for (std::size_t i = expression.find("//"); i != std::string::npos; i = expression.find("//")) {
    expression.erase(i, 1);
  }
  return has_fraction && !cut ? std::nullopt : without_variables(expression);
}

}  // namespace

std::optional<std::int64_t> arithmetic_value(std::string_view expression,
                                             const VariableText& variables) {
  return expression.size() > kLongestExpression ? std::nullopt
                                                : Evaluation(expression, variables, 0).whole();
}

std::optional<ArithmeticAssignment> arithmetic_assignment(std::string_view expression,
                                                          const VariableText& variables) {
  expression = trimmed(expression);
  std::size_t end = 0;
  while (end < expression.size() && is_word_part(expression[end])) {
    ++end;
  }
  const std::string name(expression.substr(0, end));
  const std::string_view rest = trimmed(expression.substr(end));
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) {
    return std::nullopt;
  }
  if (rest == "++" || rest == "--") {
    return ArithmeticAssignment{name, arithmetic_value(name + rest[0] + "1", variables)};
  }
  const std::size_t equals = rest.find('=');
  const std::string_view op = rest.substr(0, std::min(equals, rest.size()));
  const bool is_known = op.empty() || std::ranges::any_of(kOperators, [&](const Operator& each) {
                          return each.text == op && each.precedence > 2;
                        });
  const bool compares = equals == std::string_view::npos || rest.substr(equals).starts_with("==") ||
                        op == "<" || op == ">" || op == "==" || op == "!=";
  if (!is_known || compares) {
    return std::nullopt;
  }
  const std::string value(rest.substr(equals + 1));
  return ArithmeticAssignment{
      name, op.empty() ? arithmetic_value(value, variables)
                       : arithmetic_value(name + std::string(op) + "(" + value + ")", variables)};
}

std::optional<std::int64_t> printed_number(std::string_view command) {
  command = trimmed(command);
  if (command.starts_with("expr ")) {
    return without_variables(command.substr(5));
  }
  const Number by_bc = printed_through_bc(command);
  return by_bc ? by_bc : printed_by_python(command);
}

}  // namespace highwater
