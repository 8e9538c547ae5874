// What the recorder says of each block of a run beside its call stack: frames that name its module
// and its category.
#pragma once

#include "traces/request_trace.hpp"

namespace highwater {

/// Takes the categories from the stacks into the events. Modules stay frames, as in generated
/// traces.
void take_attributes(RequestTrace& trace);

}  // namespace highwater
