// Exception types for everything that can go wrong at the boundary of the program.
//
// A message reads `SOURCE: where: what; what to try`. Running out of simulated
// memory is an outcome, never one of these errors; a broken invariant is a bug and stops the
// program.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace highwater {

/// Base of every error that a user can cause. what() is one line, ready to print.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Wrong command line: unknown option, contradiction, unparsable value. Exit code 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// An allocator settings string that PyTorch would refuse; what() is PyTorch's own reason.
/// Exit code 2 when it came from the command line, 3 when it came from a file.
class SettingsError : public Error {
 public:
  using Error::Error;
};

/// An input that cannot be read: missing, truncated, malformed or unsupported. Exit 3.
class InputError : public Error {
 public:
  /// `where` is a byte offset ("byte 1234"), "line 3, column 7", a field path, a mix, or empty.
  InputError(std::string_view source, std::string_view where, std::string_view problem,
             std::string_view remedy)
      : Error(compose(source, where, problem, remedy)),
        source_(source),
        where_(where),
        problem_(problem),
        remedy_(remedy) {}

  [[nodiscard]] const std::string& source() const { return source_; }

  [[nodiscard]] const std::string& where() const { return where_; }

  [[nodiscard]] const std::string& problem() const { return problem_; }

  [[nodiscard]] const std::string& remedy() const { return remedy_; }

 private:
  static std::string compose(std::string_view source, std::string_view where,
                             std::string_view problem, std::string_view remedy) {
    std::string text(source);
    for (const std::string_view part : {where, problem}) {
      if (!part.empty()) {
        text.append(text.empty() ? "" : ": ").append(part);
      }
    }
    if (!remedy.empty()) {
      text.append("; ").append(remedy);
    }
    return text;
  }

  std::string source_;
  std::string where_;
  std::string problem_;
  std::string remedy_;
};

}  // namespace highwater
