// Published throughputs next to the model of time: what `plan --published-rates` prints.
#pragma once

#include <string>

#include "tools/text/output_format.hpp"

namespace highwater {

std::string rates_report(OutputFormat format);

}  // namespace highwater
