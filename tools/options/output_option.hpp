// Options that name a file to write.
//
// They have a type of their own, so that a parser can tell them from others: what they name must
// not be an input (traces/formats/bytes/opened_inputs.hpp), which a test tries with every one of
// them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <boost/any.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <boost/program_options/variables_map.hpp>

namespace highwater {

/// The value of such an option.
struct OutputName {
  std::string path;
};

void validate(boost::any& value, const std::vector<std::string>& texts, OutputName*, int);

/// What an option has for a value that is a file to write, called `name` in help.
boost::program_options::typed_value<OutputName>* output_value(const char* name);

/// Whether an option has such a value.
bool names_output(const boost::program_options::value_semantic& value);

/// The file that `option` names, if it was given.
std::optional<std::string> output_option(const boost::program_options::variables_map& values,
                                         const std::string& option);

}  // namespace highwater
