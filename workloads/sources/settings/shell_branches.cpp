#include "workloads/sources/settings/shell_branches.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace highwater {
namespace {

using Words = std::span<const std::string>;

ShellTruth truth(bool value) {
  return value ? ShellTruth::yes : ShellTruth::no;
}

ShellTruth negated(ShellTruth value) {
  return value == ShellTruth::undecided ? value : truth(value == ShellTruth::no);
}

/// A variable that the script does not set, or the output of a command.
bool is_open(std::string_view word) {
  return word.find_first_of("$`") != std::string_view::npos;
}

bool has_pattern(std::string_view word) {
  return word.find_first_of("*?[") != std::string_view::npos;
}

std::optional<long long> whole(const std::string& word) {
  long long value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc{} && end == word.data() + word.size() ? std::optional(value)
                                                                  : std::nullopt;
}

ShellTruth compared(const std::string& left, std::string_view sign, const std::string& right) {
  if (is_open(left) || is_open(right)) {
    return ShellTruth::undecided;
  }
  if (sign == "=" || sign == "==") {
    return has_pattern(right) ? ShellTruth::undecided : truth(left == right);
  }
  if (sign == "!=") {
    return has_pattern(right) ? ShellTruth::undecided : truth(left != right);
  }
  const auto a = whole(left);
  const auto b = whole(right);
  if (!a || !b) {
    return ShellTruth::undecided;
  }
  constexpr std::array<std::string_view, 6> kSigns{"-eq", "-ne", "-gt", "-ge", "-lt", "-le"};
  const std::array<bool, 6> answers{*a == *b, *a != *b, *a > *b, *a >= *b, *a < *b, *a <= *b};
  const auto at = static_cast<std::size_t>(std::ranges::find(kSigns, sign) - kSigns.begin());
  return at == kSigns.size() ? ShellTruth::undecided : truth(answers[at]);
}

/// What stands between the brackets.
ShellTruth truth_inside(Words words) {
  if (!words.empty() && words.front() == "!") {
    return negated(truth_inside(words.subspan(1)));
  }
  if (words.size() == 3) {
    return compared(words[0], words[1], words[2]);
  }
  const bool asks_length = !words.empty() && (words.front() == "-z" || words.front() == "-n");
  const std::string text = words.size() == 2 ? words[1] : "";
  if (!asks_length || words.size() > 2 || is_open(text)) {
    return ShellTruth::undecided;
  }
  return truth(text.empty() == (words.front() == "-z"));
}

ShellTruth both(ShellTruth a, ShellTruth b) {
  if (a == ShellTruth::no || b == ShellTruth::no) {
    return ShellTruth::no;
  }
  return a == ShellTruth::yes ? b : a;
}

ShellTruth either(ShellTruth a, ShellTruth b) {
  return negated(both(negated(a), negated(b)));
}

}  // namespace

ShellTruth truth_of(Words words) {
  if (!words.empty() && words.front() == "!") {
    return negated(truth_of(words.subspan(1)));
  }
  const bool opens =
      !words.empty() && (words.front() == "[" || words.front() == "[[" || words.front() == "test");
  const bool closes = !words.empty() && (words.back() == "]" || words.back() == "]]");
  if (!opens && !closes) {
    return ShellTruth::undecided;
  }
  words = words.subspan(opens ? 1 : 0);
  return truth_inside(words.first(words.size() - (closes && !words.empty() ? 1 : 0)));
}

ShellTruth matches_pattern(const std::string& word, const std::string& pattern) {
  if (pattern == "*") {
    return ShellTruth::yes;
  }
  const bool is_decided = !is_open(word) && !is_open(pattern) && !has_pattern(pattern);
  return is_decided ? truth(word == pattern) : ShellTruth::undecided;
}

void ShellBranches::count_innermost() {
  const ShellTruth current = open_.back().current;
  if (current == ShellTruth::no) {
    ++skipped_;
  } else if (current == ShellTruth::undecided) {
    undecided_.push_back(open_.size() - 1);
  }
}

void ShellBranches::leave_innermost() {
  const ShellTruth current = open_.back().current;
  if (current == ShellTruth::no) {
    --skipped_;
  } else if (current == ShellTruth::undecided) {
    undecided_.pop_back();
  }
}

void ShellBranches::open(Open branch) {
  open_.push_back(std::move(branch));
  count_innermost();
}

void ShellBranches::set_current(ShellTruth truth) {
  leave_innermost();
  open_.back().current = truth;
  count_innermost();
}

void ShellBranches::begin_if() {
  open({.is_testing = true});
}

void ShellBranches::begin_elif() {
  if (!open_.empty()) {
    Open& branch = open_.back();
    branch.is_testing = true;
    branch.has_test = false;
    set_current(branch.earlier == ShellTruth::yes ? ShellTruth::no : ShellTruth::yes);
  }
}

void ShellBranches::begin_then() {
  if (is_testing()) {
    open_.back().is_testing = false;
    enter(open_.back().has_test ? open_.back().test : ShellTruth::undecided);
  }
}

void ShellBranches::begin_else() {
  if (!open_.empty()) {
    enter(ShellTruth::yes);
  }
}

/// A branch runs if its test holds and no earlier one did.
void ShellBranches::enter(ShellTruth test) {
  Open& branch = open_.back();
  set_current(both(test, negated(branch.earlier)));
  branch.earlier = either(branch.earlier, branch.current);
}

void ShellBranches::begin_case(std::string subject) {
  open({.awaits_pattern = true, .is_case = true, .subject = std::move(subject)});
}

void ShellBranches::add_pattern(const std::string& pattern) {
  add_test(matches_pattern(open_.back().subject, pattern), Joint::either);
}

void ShellBranches::begin_body() {
  open_.back().awaits_pattern = false;
  enter(open_.back().has_test ? open_.back().test : ShellTruth::undecided);
}

void ShellBranches::end_body() {
  if (!open_.empty() && open_.back().is_case) {
    open_.back().awaits_pattern = true;
    open_.back().has_test = false;
    set_current(ShellTruth::yes);
  }
}

void ShellBranches::end() {
  if (!open_.empty()) {
    leave_innermost();
    open_.pop_back();
  }
}

void ShellBranches::add_test(ShellTruth value, Joint joint) {
  Open& branch = open_.back();
  if (!branch.has_test || joint == Joint::next) {
    branch.test = value;
  } else {
    branch.test = joint == Joint::both ? both(branch.test, value) : either(branch.test, value);
  }
  branch.has_test = true;
}

/// The outermost branch that may run sees all that those inside of it set, and so do its values.
void ShellBranches::note(const std::string& name, const std::string& value) {
  if (undecided_.empty()) {
    return;
  }
  const auto [known, is_new] = open_[undecided_.front()].values.try_emplace(name, value);
  if (!is_new && known->second != value && is_ambiguous_.insert(name).second) {
    ambiguous_.push_back(name);
  }
}

}  // namespace highwater
