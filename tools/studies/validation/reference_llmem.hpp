// The reference cases about LLMem, computed anew by the estimates.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace highwater {

/// The values of a case whose id begins with "llmem.", under the names of its "recomputed" and from
/// its "inputs" alone. `all_cases` serve the cases that sum up others.
/// @throws InputError if the id or the model is unknown
boost::json::object recompute_llmem(const boost::json::object& reference_case,
                                    const boost::json::array& all_cases);

}  // namespace highwater
