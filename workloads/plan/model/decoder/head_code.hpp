// What a decoder does behind its blocks: last norm, head, logits (modeling_NAME.py of transformers
// 5.23).
#pragma once

#include <cstdint>

namespace highwater {

/// When the last norm is made.
enum class LastNormMade : std::uint8_t {
  before_tables,
  behind_tables  ///< behind the rotary tables: Phi
};

struct LastNormCode {
  const char* name = "norm";
  LastNormMade made = LastNormMade::before_tables;
};

/// What the head gets.
enum class HeadInput : std::uint8_t {
  states,
  divided_states  ///< by a number: MiniCPM 3
};

/// What is done to the logits behind the head.
enum class LogitsCode : std::uint8_t {
  plain,
  scaled,
  soft_capped,
  wide_soft_capped  ///< in fp32: Beam
};

struct HeadCode {
  bool has_bias = false;
  HeadInput input = HeadInput::states;
  LogitsCode logits = LogitsCode::plain;
};

}  // namespace highwater
