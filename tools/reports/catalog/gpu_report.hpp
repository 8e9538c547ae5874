// The GPUs that --gpu knows, as a table, CSV and JSON.
#pragma once

#include <string>

#include <boost/json.hpp>

#include "tools/text/output_format.hpp"

namespace highwater {

std::string gpu_report(OutputFormat format);

boost::json::object gpus_schema();

}  // namespace highwater
