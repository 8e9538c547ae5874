"""Rows of answers as typed columns: columns_test.py PACKAGE_FOLDER

What a Parquet file holds is compared with the JSON; the types are those of the command's schema. Exit code 4 (skipped)
without pyarrow or pandas.
"""
import json
import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.insert(0, str(pathlib.Path(sys.argv[1]).resolve()))

try:
    import pandas  # noqa: F401
    import pyarrow
    import pyarrow.parquet
except ImportError:
    print("skipped: pyarrow or pandas is not installed")
    sys.exit(4)

import highwater as hw  # noqa: E402

FAKE = ROOT / "traces" / "recorded" / "fake"
FILE = FAKE / "gpt2-fp32-varlen-capacity2700.hwt.xz"
TYPES = {"string": "string", "integer": "int64", "number": "double", "boolean": "bool"}


def schema_types():
    """What the schema says of a row of scan."""
    schema = json.loads((ROOT / "tools" / "schemas" / "scan.json").read_text())
    for name, each in schema["properties"]["rows"]["items"]["properties"].items():
        kinds = each["type"] if isinstance(each["type"], list) else [each["type"]]
        yield name, TYPES[next(kind for kind in kinds if kind != "null")]


class Columns(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def scanned(self):
        """Two ranks, a file without a rank, and one that cannot be read."""
        for name in ("rank0", "rank12", "other"):
            (self.folder / f"{name}.hwt.xz").write_bytes(FILE.read_bytes())
        (self.folder / "rank3.pickle").write_bytes(b"no snapshot")
        return hw.scan(self.folder)

    def test_the_rows_of_a_plan_are_those_of_its_table(self):
        answer = hw.plan(model="gpt2", seq=64, precision="bf16", capacity="8GiB", gpus=2, rows=2)
        strategies = [row["strategy"] for row in answer.to_dict()["strategies"]["results"]]
        self.assertEqual([row.strategy for row in answer._rows()], strategies)

    def test_a_parquet_file_has_the_rows_of_the_json(self):
        answer = self.scanned()
        path = self.folder / "ranks.parquet"
        answer.to_parquet(path)
        table = pyarrow.parquet.read_table(path)
        types = {field.name: str(field.type) for field in table.schema}
        self.assertEqual(types, {name: kind for name, kind in schema_types() if name in types})
        self.assertEqual(table.schema.metadata[b"schema"], b"highwater.scan/1")
        rows = answer.to_dict()["rows"]
        self.assertEqual([{name: value for name, value in row.items() if value is not None} for row in table.to_pylist()],
                         [{name: value for name, value in row.items() if value is not None} for row in rows])
        self.assertEqual(sorted(os.listdir(self.folder)), ["other.hwt.xz", "rank0.hwt.xz", "rank12.hwt.xz",
                                                           "rank3.pickle", "ranks.parquet"])
        self.assertEqual([row["rank"] for row in rows], [0, 3, 12, None])
        self.assertIn("error", types)

    def test_nothing_is_left_where_no_file_can_be(self):
        with self.assertRaises(OSError):
            self.scanned().to_parquet(self.folder / "none" / "ranks.parquet")

    def test_pandas_keeps_whole_numbers(self):
        frame = self.scanned().to_pandas()
        self.assertEqual(str(frame["rank"].dtype), "Int64")
        self.assertEqual(str(frame["peak_reserved_bytes"].dtype), "Int64")  # rank 3 has none
        self.assertEqual(frame["rank"].dropna().tolist(), [0, 3, 12])
        self.assertTrue(frame[frame["rank"] == 3]["error"].iloc[0])
        whole = hw.load(FILE).replay().to_pandas()
        self.assertEqual(str(whole["peak.reserved_bytes"].dtype), "int64")

    def test_parts_and_lists_of_other_answers(self):
        answer = hw.load(FILE).sweep(set={"expandable_segments": [False, True], "capacity": ["2GiB", "4GiB"]})
        peaks = [run["peak"]["reserved_bytes"] for run in answer.to_dict()["runs"]]
        self.assertEqual(len(peaks), 4)
        answer.to_parquet(self.folder / "sweep.parquet")
        table = pyarrow.parquet.read_table(self.folder / "sweep.parquet")
        self.assertEqual(table.column("peak.reserved_bytes").type, pyarrow.int64())
        self.assertEqual(table.column("peak.reserved_bytes").to_pylist(), peaks)
        self.assertEqual(answer.to_pandas()["peak.reserved_bytes"].tolist(), peaks)
        self.assertEqual(table.column("set.expandable_segments").to_pylist(),
                         [run["set"]["expandable_segments"] for run in answer.to_dict()["runs"]])
        ooms = [json.loads(text) for text in table.column("ooms").to_pylist()]
        self.assertEqual(ooms, [run["ooms"] for run in answer.to_dict()["runs"]])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
