#include "tools/options/edit_option.hpp"

#include <boost/program_options/value_semantic.hpp>

#include "tools/options/memory_options.hpp"

namespace highwater {
namespace po = boost::program_options;

void add_edit_option(OptionParser& parser, EditHelp detail) {
  const char* const help = detail == EditHelp::names
                               ? "change the run first; repeatable; forms: highwater replay --help"
                               : "change the run before it is replayed; repeatable, in this order";
  parser.add(OptionGroup::memory)("edit", po::value<Arguments>()->composing()->value_name("EDIT"),
                                  help);
  if (detail == EditHelp::forms) {
    parser.note("edit", edit_help());
  }
}

std::vector<EditWords> read_edit_option(const po::variables_map& values,
                                        std::vector<std::string>& problems) {
  std::vector<EditWords> edits;
  if (values.contains("edit")) {
    for (const std::string& text : values["edit"].as<Arguments>()) {
      collect_problems(problems, [&] { edits.push_back(read_edit(text)); });
    }
  }
  return edits;
}

}  // namespace highwater
