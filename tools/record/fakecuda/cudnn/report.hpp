// What happened to cuDNN's plans in this process, for the recording's report.
#pragma once

#include <cstdint>
#include <string>

namespace highwater::fakecuda {

/// A plan for `graph` (the content of its operations) has been finalized.
void note_plan(const std::string& graph, std::int64_t workspace);

/// One whose workspace nobody knows, and which counts 0 bytes.
void note_unknown_plan();

/// Lines "key value" (fakecuda.h, fakecuda_cudnn()).
std::string cudnn_report();

}  // namespace highwater::fakecuda
