// Recomputing reference cases with the closed forms, one file per group of sources.
//
// A recomputation reads a case's inputs and calls the forms; it gives the figures by the names that
// the case's answers have, in the units of the source. The answers themselves are not in what it
// gets.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <boost/json.hpp>

namespace highwater {

/// The figures of one case; empty if it is none that the function knows. `all_cases` is for those
/// that speak of others. @throws InputError when an input is missing or of another type
using Recompute = boost::json::object (*)(const boost::json::object& reference_case,
                                          const boost::json::array& all_cases);

boost::json::object recompute_deepspeed(const boost::json::object& reference_case,
                                        const boost::json::array& all_cases);
boost::json::object recompute_nemo(const boost::json::object& reference_case,
                                   const boost::json::array& all_cases);
/// 4N, "limited hardware", the ZeRO paper, Korthikanti et al., Accelerate, Megatron-LM.
boost::json::object recompute_others(const boost::json::object& reference_case,
                                     const boost::json::array& all_cases);

/// Which function recomputes the cases whose id begins with `prefix`.
struct RecomputeEntry {
  std::string_view prefix;
  Recompute recompute;
};

/// By the first entry whose prefix fits; empty if none does.
boost::json::object recompute_by_id(std::span<const RecomputeEntry> entries,
                                    const boost::json::object& reference_case,
                                    const boost::json::array& all_cases);

/// The same for cases that speak of no others.
struct RecomputeAloneEntry {
  std::string_view prefix;
  boost::json::object (*recompute)(const boost::json::object& reference_case);
};

boost::json::object recompute_by_id(std::span<const RecomputeAloneEntry> entries,
                                    const boost::json::object& reference_case);

/// The id of a case.
std::string_view reference_id(const boost::json::object& reference_case);

/// Inputs of a case. @throws InputError when absent or of another type
double input_number(const boost::json::object& reference_case, std::string_view key);
/// A whole number from 1 to 1,000,000.
int input_count(const boost::json::object& reference_case, std::string_view key);
std::string_view input_text(const boost::json::object& reference_case, std::string_view key);
const boost::json::object& input_object(const boost::json::object& reference_case,
                                        std::string_view key);
bool input_flag(const boost::json::object& reference_case, std::string_view key);

// Units of the sources.
inline constexpr double kKibi = 1024;
inline constexpr double kMebi = kKibi * kKibi;
inline constexpr double kGibi = kKibi * kMebi;
inline constexpr double kMega = 1e6;
inline constexpr double kGiga = 1e9;
inline constexpr double kTera = 1e12;

}  // namespace highwater
