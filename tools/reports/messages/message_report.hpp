// The report of `explain` about a log.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tools/messages/oom_message.hpp"
#include "tools/text/output_format.hpp"

namespace highwater {

/// People see the first `top` messages; JSON has all, as `messages`.
std::string message_report(std::string_view subject, const std::vector<OomMessage>& messages,
                           OutputFormat format, std::size_t top);

}  // namespace highwater
