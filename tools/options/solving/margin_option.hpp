// --margin: the share of the memory that is to stay free.
#pragma once

#include <string>
#include <vector>

#include <boost/program_options/variables_map.hpp>

namespace highwater {

/// "3" or "3%" as a share; `usual` where it is not given.
double read_margin(const boost::program_options::variables_map& values, double usual,
                   std::vector<std::string>& problems);

}  // namespace highwater
