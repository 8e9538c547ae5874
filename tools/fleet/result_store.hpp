// Results that have been kept: those of an interrupted run, or the parts of a run in shards.
#pragma once

#include <optional>
#include <string>

#include "tools/fleet/pieces.hpp"

namespace highwater {

/// To be called from several threads at once.
class ResultStore {
 public:
  ResultStore() = default;
  ResultStore(const ResultStore&) = delete;
  ResultStore& operator=(const ResultStore&) = delete;
  virtual ~ResultStore() = default;

  /// Whether find() has it.
  [[nodiscard]] virtual bool has(std::uint32_t job, PieceNumber number) const = 0;

  [[nodiscard]] virtual std::string find(std::uint32_t job, PieceNumber number) const = 0;

  /// A piece has been carried out. @throws Error where its result cannot be kept
  virtual void keep(std::uint32_t job, PieceNumber number, const std::string& result) = 0;
};

/// Keeps nothing.
class NoStore : public ResultStore {
 public:
  [[nodiscard]] bool has(std::uint32_t /*job*/, PieceNumber /*number*/) const override {
    return false;
  }

  [[nodiscard]] std::string find(std::uint32_t /*job*/, PieceNumber /*number*/) const override {
    return "";
  }

  void keep(std::uint32_t /*job*/, PieceNumber /*number*/, const std::string& /*result*/) override {
  }
};

}  // namespace highwater
