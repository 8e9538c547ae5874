// How runs of a sweep travel as bytes. Fields are named one by one: Boost.PFR counts the fields of
// structs as large as these at the price of gigabytes.
//
// What no report of a sweep shows is left out: statistics, maps, curves, decisions and fidelity.
#pragma once

#include <tuple>

#include "tools/studies/runs/result_codecs.hpp"
#include "tools/studies/sweep/sweep_run.hpp"

namespace highwater {

/// Writes and reads what `Fields::of` ties together.
template <class T, class Fields>
struct FieldCodec {
  static void write(PieceWriter& writer, const T& value) {
    std::apply([&](const auto&... field) { (writer.put(field), ...); }, Fields::of(value));
  }

  static void read(PieceReader& reader, T& value) {
    std::apply([&](auto&... field) { (reader.get(field), ...); }, Fields::of(value));
  }
};

struct ReplayResultFields {
  static auto of(auto& r) {
    return std::tie(r.peak, r.at_peak_reserved, r.final, r.pools, r.counts, r.fragmentation, r.ooms,
                    r.operations, r.operations_repeated, r.refused_empty_caches);
  }
};

struct DeviceReplayFields {
  static auto of(auto& r) {
    return std::tie(r.device, r.result, r.derivation, r.settings, r.version, r.later_torch,
                    r.torch_detected, r.capacity, r.memory_limit, r.memory_fraction, r.events_read,
                    r.events_dropped, r.truncated, r.profiled, r.own_settings_error, r.notes,
                    r.stream_handles);
  }
};

struct SweepRunFields {
  static auto of(auto& r) {
    return std::tie(r.point, r.set, r.replay, r.problem, r.place, r.activations, r.gain);
  }
};

template <>
struct PieceCodec<ReplayResult> : FieldCodec<ReplayResult, ReplayResultFields> {};

template <>
struct PieceCodec<DeviceReplay> : FieldCodec<DeviceReplay, DeviceReplayFields> {
  static void read(PieceReader& reader, DeviceReplay& replay) {
    FieldCodec::read(reader, replay);
    for (const OomRecord& record : replay.result.ooms) {
      for (const PoolAccount& pool : record.account.pools) {
        if (pool.stream.index() >= replay.stream_handles.size()) {
          PieceReader::fail();  // reports look the stream up
        }
      }
    }
  }
};

template <>
struct PieceCodec<SweepRun> : FieldCodec<SweepRun, SweepRunFields> {};

}  // namespace highwater
