#include "tests/support/command_run.hpp"

#include <sstream>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

namespace highwater {

CommandRun run(const Arguments& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const ExitCode code = run_program(arguments, out, err);
  return {code, out.str(), err.str()};
}

Arguments words(const std::string& line) {
  std::istringstream stream(line);
  Arguments result;
  for (std::string word; stream >> word;) {
    result.push_back(word);
  }
  return result;
}

CommandRun run_line(const std::string& line) {
  return run(words(line));
}

boost::json::object json_of(const std::string& line) {
  const CommandRun result = run_line(line + " --format json");
  CAPTURE(line, result.err);
  REQUIRE(result.code == ExitCode::ok);
  return boost::json::parse(result.out).as_object();
}

}  // namespace highwater
