// What `explain` says about the message of an error out of memory. It promises no more than the
// text tells.
#pragma once

#include <string>
#include <vector>

#include "tools/messages/message_cause.hpp"
#include "tools/messages/oom_message.hpp"

namespace highwater {

/// "OUT OF MEMORY, fragmentation: ...".
std::string message_verdict(const OomMessage& message, const MessageCause& cause);

/// What the figures are, and what is on the device beside PyTorch.
std::vector<std::string> message_evidence(const OomMessage& message);

/// Which setting or size would help.
std::vector<std::string> message_helps(const OomMessage& message, const MessageCause& cause);

/// What to record, for what the text cannot tell.
std::vector<std::string> message_next(const OomMessage& message, const MessageCause& cause);

/// "line 120, rank 3, GPU 0, 4 times; PyTorch 2.2 or later, caching allocator".
std::string message_place(const OomMessage& message);

/// "PyTorch 1.4 to 2.0"; empty where it is not known.
std::string release_words(const ReleaseSpan& releases);

}  // namespace highwater
