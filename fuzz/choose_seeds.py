#!/usr/bin/env python3
"""Chooses the seeds of a fuzz target: python3 fuzz/choose_seeds.py BINARY SEEDS CORPUS...

From the corpora, the seeds there are and some long random inputs, takes the input that reaches the most
edges of the code, then the one that adds the most to that, and so on, up to MOST of them.
"""

import hashlib
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MOST = 60  # files of a target
RANDOM = 400  # inputs tried beside those of the corpora
LENGTHS = [100, 200, 400]  # of those, in bytes


def features(binary, candidates, scratch):
    """What each candidate reaches, as libFuzzer notes it down in a merge."""
    control = scratch / "control"
    merged = scratch / "merged"
    merged.mkdir()
    flags = ["-merge=1", "-set_cover_merge=1", "-use_counters=0", f"-merge_control_file={control}"]
    subprocess.run([binary, *flags, merged, candidates], check=True, capture_output=True)
    lines = control.read_text().split("\n")
    files = lines[2 : 2 + int(lines[0])]
    noted = (line.split() for line in lines[2 + len(files) :])
    return {files[int(words[1])]: set(words[2:]) for words in noted if words[:1] == ["FT"]}


def main():
    binary, seeds, *corpora = sys.argv[1:]
    seeds = Path(seeds)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        candidates = scratch / "candidates"
        candidates.mkdir()
        known = (file for corpus in [seeds, *corpora] for file in Path(corpus).glob("*"))
        inputs = [file.read_bytes() for file in known]
        numbers = random.Random(1)
        inputs += (numbers.randbytes(numbers.choice(LENGTHS)) for _ in range(RANDOM))
        for data in inputs:
            (candidates / hashlib.sha1(data).hexdigest()[:12]).write_bytes(data)

        reached = features(binary, candidates, scratch)
        everything = set().union(*reached.values())
        left = set(everything)
        chosen = []
        while left and len(chosen) < MOST:
            best = max(reached, key=lambda file: (len(reached[file] & left), file))
            chosen.append(best)
            left -= reached[best]

        shutil.rmtree(seeds, ignore_errors=True)
        seeds.mkdir(parents=True)
        for file in chosen:
            shutil.copy(file, seeds)
        size = sum(Path(file).stat().st_size for file in chosen)
        print(f"{seeds}: {len(chosen)} of {len(reached)} inputs, {size} bytes,", end=" ")
        print(f"{len(everything) - len(left)} of {len(everything)} edges")


main()
