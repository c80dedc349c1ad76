"""Run commands in a process that has a Spark session: a JSON list of them on stdin, each after its folder; on stdout a
list of how they ended. The first argument is the master; others are settings of Spark, `name=value`.
"""

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from pyspark.sql import SparkSession

from conftest import run_cli
from ragworthy.spark import session


def main() -> None:
    session._LEAST = 2048  # small files are cut into pieces, too
    builder = SparkSession.builder.master(sys.argv[1])
    for setting in sys.argv[2:]:
        builder = builder.config(*setting.split("=", 1))
    spark = builder.getOrCreate()
    done = []
    for folder, *command in json.load(sys.stdin):
        os.chdir(folder)
        done.append(run_cli(*command))
    spark.stop()
    print(json.dumps(done))


if __name__ == "__main__":
    main()
