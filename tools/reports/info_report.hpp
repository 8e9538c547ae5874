// The report of `info`: what is in each file, device by device.
#pragma once

#include <string>
#include <vector>

#include "tools/files/file_info.hpp"
#include "tools/text/output_format.hpp"

namespace highwater {

std::string info_report(const std::vector<FileInfo>& files, OutputFormat format);

}  // namespace highwater
