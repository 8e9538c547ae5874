"""The scripts of tools/ refuse what they do not know, before they install, build or run anything."""
import pathlib
import subprocess
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[3] / "tools"


class Bench(unittest.TestCase):
    def test_wrong_arguments_are_refused(self):
        for arguments, message in ((["--torc", "x"], "'--torc': unknown"),
                                   (["2e6"], "'2e6': unknown"),
                                   (["--torch"], "needs the folder of an installed torch"),
                                   (["--torch", "/no/such/folder"], "needs the folder of an installed torch"),
                                   (["--replays", "--torch", "/"], "use one of them")):
            with self.subTest(arguments=arguments):
                result = subprocess.run(["/bin/bash", TOOLS / "bench.sh", *arguments], text=True, timeout=60,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(message, result.stderr)


if __name__ == "__main__":
    unittest.main()
