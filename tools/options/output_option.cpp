#include "tools/options/output_option.hpp"

namespace highwater {

namespace po = boost::program_options;

void validate(boost::any& value, const std::vector<std::string>& texts, OutputName*, int) {
  po::validators::check_first_occurrence(value);
  value = OutputName{po::validators::get_single_string(texts, true)};
}

po::typed_value<OutputName>* output_value(const char* name) {
  return po::value<OutputName>()->value_name(name);
}

bool names_output(const po::value_semantic& value) {
  return dynamic_cast<const po::typed_value<OutputName>*>(&value) != nullptr;
}

std::optional<std::string> output_option(const po::variables_map& values,
                                         const std::string& option) {
  return values.contains(option) ? std::optional(values[option].as<OutputName>().path)
                                 : std::nullopt;
}

}  // namespace highwater
