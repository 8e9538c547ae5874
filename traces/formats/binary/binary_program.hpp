// A scalable program (.hwp) in the binary format: the third kind of file behind the same header.
//
//     integers   count, names
//     points     count, then per recording: name, values, flags, counts, peaks
//     base       index of a point
//     check      0, or 2 and what was predicted of the recording that was held out (1: an earlier
//                release, without the number of sizes that were not confirmed); from 3 on: 3 more,
//                and after it the conditions: count, then name and value
//     formulas   count, then per formula: terms, factor, unit, limits, basis (from 3 on: 3 more,
//     and
//                after it where the size grows again and from where on it exists), largest recorded
//     changes    count, then phase, site, a count for each point, the largest size
//     requests   as in a request trace; the value of an alloc is the number of its formula
//
// A reader refuses whatever refers to something that the file does not have, so its callers index
// without a check.
#pragma once

#include "traces/formats/binary/binary_stream.hpp"
#include "traces/scalable_program.hpp"

namespace highwater {

void put_program(BinaryWriter& out, const ScalableProgram& program);

ScalableProgram get_program(BinaryReader& in);

}  // namespace highwater
