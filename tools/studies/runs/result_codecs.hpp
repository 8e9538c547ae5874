// How the results of studies travel as bytes (tools/fleet/piece_codec.hpp), where a field is a row
// of a table: by its name.
#pragma once

#include <string>

#include "allocator/settings/version.hpp"
#include "allocator/size_policy.hpp"
#include "allocator/statistics.hpp"
#include "sim/replay/timeline.hpp"
#include "tools/fleet/piece_codec.hpp"
#include "traces/address.hpp"
#include "workloads/estimates/terms/formula.hpp"

namespace highwater {

template <>
inline constexpr bool kIsPlainValue<Statistics> = true;
template <>
inline constexpr bool kIsPlainValue<Address> = true;

template <>
inline constexpr std::size_t kEnumerators<PoolKind> = 2;

template <>
struct PieceCodec<const Formula*> {
  static void write(PieceWriter& writer, const Formula* formula) {
    writer.put(std::string(formula->name));
  }

  static void read(PieceReader& reader, const Formula*& formula) {
    formula = find_formula(reader.get<std::string>());
    if (formula == nullptr) {
      PieceReader::fail();
    }
  }
};

template <>
struct PieceCodec<const VersionPreset*> {
  static void write(PieceWriter& writer, const VersionPreset* version) {
    writer.put(version == nullptr ? std::string() : std::string(version->name));
  }

  static void read(PieceReader& reader, const VersionPreset*& version) {
    const auto name = reader.get<std::string>();
    try {
      version = name.empty() ? nullptr : &version_preset(name);
    } catch (const UsageError&) {
      PieceReader::fail();
    }
  }
};

/// Not carried: studies of many runs drop the curves of each.
template <>
struct PieceCodec<Timeline> {
  static void write(PieceWriter& /*writer*/, const Timeline& /*timeline*/) {}

  static void read(PieceReader& /*reader*/, Timeline& timeline) { timeline = Timeline(0); }
};

}  // namespace highwater
