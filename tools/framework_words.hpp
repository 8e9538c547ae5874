// Words for --framework.
#pragma once

#include "tools/plan_words.hpp"

namespace highwater {

inline constexpr std::array kFrameworks{Word{"torch", Framework::torch},
                                        Word{"colossalai-gemini", Framework::colossalai_gemini}};

}  // namespace highwater
