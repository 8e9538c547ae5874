// How a plan's ranks are divided: three axes always, the others where they are used.
#include "tools/reports/plan_rows.hpp"

#include <catch2/catch.hpp>

using namespace highwater;

TEST_CASE("plan rows: one GPU, and each further axis from 2 on", "[reports][plan]") {
  Parallelism p;
  CHECK(sizes_of(p) == "1 x 1 x 1");
  p.dp = 8;
  p.tp = 2;
  p.pp = 4;
  CHECK(sizes_of(p) == "8 x 2 x 4");
  p.cp = 2;
  CHECK(sizes_of(p) == "8 x 2 x 4, cp 2");
  p.ep = 4;
  p.fsdp.replicas = 2;
  CHECK(sizes_of(p) == "8 x 2 x 4, 2 copies, cp 2, ep 4");
}

TEST_CASE("plan rows: chunks are those of an interleaved pipeline", "[reports][plan]") {
  Parallelism p;
  p.chunks = 3;
  p.schedule = PipelineSchedule::interleaved;
  CHECK(sizes_of(p) == "1 x 1 x 1");  // no pipeline
  p.pp = 2;
  CHECK(sizes_of(p) == "1 x 1 x 2, 3 chunks");
  p.schedule = PipelineSchedule::one_f_one_b;
  CHECK(sizes_of(p) == "1 x 1 x 2");
}
