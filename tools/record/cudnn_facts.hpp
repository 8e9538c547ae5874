// What a recording says of cuDNN's plans: whether NVIDIA's own library was asked for their
// workspaces (tools/record/fakecuda/cudnn), and what it could not say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

namespace highwater {

struct CudnnFacts {
  std::uint64_t plans = 0;        ///< whose workspaces are the library's answers
  std::uint64_t not_counted = 0;  ///< that count 0 bytes, since nobody answered
  std::string library;            ///< the file that was to be asked, or empty
  std::uint64_t version = 0;      ///< 92600, or 0
  std::string problem;            ///< why it could not be asked, or empty
  bool is_other = false;          ///< the user named it, in the place of the script's own
  bool is_benchmarked = false;    ///< torch.backends.cudnn.benchmark
  std::uint64_t choices = 0;      ///< operations for which several plans were made
  std::uint64_t smallest = 0;     ///< workspaces of the choice that differ most, in bytes
  std::uint64_t largest = 0;
};

/// From the recorder's line (highwater_record/workspaces/cudnn.py); what is missing or not a number
/// is 0.
CudnnFacts read_cudnn_facts(const boost::json::object& line);

/// Sentences for the report; none where cuDNN made no plan.
std::vector<std::string> cudnn_notes(const CudnnFacts& facts);

}  // namespace highwater
