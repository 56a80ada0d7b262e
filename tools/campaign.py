"""Runs the long form of the layers that need time, and writes a report: see tools/campaign, which builds what this runs.

    python3 tools/campaign.py HOURS OUTPUT TIDEMARK SIMULATE [--seed N] [--lanes N]

Each layer has a goal, what one hour should reach. The lanes always run a round of the layer that is farthest from its goal, each round with a seed of its
own, until the time is over. A round that finds something, or breaks off, is a violation: its whole output is kept in OUTPUT.
"""

import argparse
import datetime
import os
import pathlib
import platform
import re
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINE = re.compile(r"^layer=\S+ .*$", re.MULTILINE)
FUZZ_SECONDS = 120


class Layer:
    """What is run again and again: `command` makes the arguments from a seed; `goal` is what an hour should reach, in `unit`."""

    def __init__(self, name, goal, unit, command, is_once=False):
        self.name = name
        self.goal = goal
        self.unit = unit
        self.command = command
        # It has no seed: a second round would look at the same again.
        self.is_once = is_once
        self.done = 0
        self.rounds = 0
        self.violations = 0
        self.seconds = 0.0
        self.cpu = 0.0
        self.running = 0
        self.remarks = []

    def part(self, hours):
        if self.is_once and self.rounds + self.running > 0:
            return float("inf")
        # What runs now counts as half a round, so that two lanes do not go for the same layer.
        return (self.done + self.running * self.done / (2 * max(1, self.rounds))) / (self.goal * hours) + self.running * 1e-6


def layers(tidemark, simulate, hours):
    def simulated(name, states):
        return lambda seed: [simulate, "--layer", name, "--states", str(states), "--seed", str(seed), "--workers", "1"]

    def crashed(layer, factor):
        return lambda seed: ["bash", str(ROOT / "tools/crash.sh"), tidemark, layer, str(factor), str(seed)]

    def fuzzed(target):
        return lambda seed: ["bash", str(ROOT / "tools/fuzz"), "--no-build", str(FUZZ_SECONDS), target]

    python = sys.executable
    found = [
        Layer("cut", 1_800_000, "states", simulated("cut", 400_000)),
        Layer("fault", 1_200_000, "states", simulated("fault", 400_000)),
        Layer("flip", 400_000, "states", lambda seed: [simulate, "--layer", "flip", "--seed", str(seed), "--workers", "1"]),
        Layer("exhaustive", 2_200_000, "states",
              lambda _: [simulate, "--layer", "exhaustive", "--length", "5" if hours >= 0.5 else "4", "--workers", "1"], is_once=True),
        Layer("power-ext4", 10_500, "cuts", crashed("power-ext4", 1)),
        Layer("power-xfs", 2_700, "cuts", crashed("power-xfs", 1)),
        Layer("replay", 26_000, "states", crashed("replay", 1)),
        Layer("sync", 2_000, "injections", crashed("sync", 1)),
        Layer("full", 1_000, "injections", crashed("full", 1)),
        Layer("kill", 10_500, "kills", lambda seed: [python, str(ROOT / "tools/kills.py"), tidemark, "600", str(seed)]),
        Layer("kill-call", 1_000, "kills", crashed("kill-call", 1)),
        Layer("agreement", 1_500, "images", lambda seed: [python, str(ROOT / "tools/agreement.py"), tidemark, "1500", str(seed)]),
    ]
    for target in ("frame", "recovery", "index", "identity", "definitions"):
        found.append(Layer(f"fuzz {target}", 620, "CPU seconds", fuzzed(target)))
    for target in ("edits", "json-lines", "csv", "cloudevents", "values", "notes"):
        found.append(Layer(f"fuzz {target}", 180, "CPU seconds", fuzzed(target)))
    return found


def number(line, name):
    match = re.search(rf"\b{name}=(\d+)", line)
    return int(match.group(1)) if match else 0


class Campaign:
    def __init__(self, arguments):
        self.arguments = arguments
        self.output = pathlib.Path(arguments.output)
        self.layers = layers(arguments.tidemark, arguments.simulate, arguments.hours)
        self.lock = threading.Lock()
        self.start = time.monotonic()
        self.stopped = False
        self.groups = set()

    def seconds_left(self):
        return self.arguments.hours * 3600 - (time.monotonic() - self.start)

    def run(self):
        lanes = [threading.Thread(target=self.lane) for _ in range(self.arguments.lanes)]
        for lane in lanes:
            lane.start()
        last = 0.0
        while any(lane.is_alive() for lane in lanes):
            time.sleep(0.5)
            if time.monotonic() - last > 60:
                last = time.monotonic()
                self.report()
        self.report(is_last=True)
        return 1 if sum(layer.violations for layer in self.layers) else 0

    def stop(self):
        """Ends what runs, with all its children."""
        self.stopped = True
        for group in list(self.groups):
            try:
                os.killpg(group, signal.SIGTERM)
            except ProcessLookupError:
                pass

    def lane(self):
        while not self.stopped and self.seconds_left() > 0:
            with self.lock:
                layer = min(self.layers, key=lambda layer: layer.part(self.arguments.hours))
                layer.running += 1
                seed = self.arguments.seed + layer.rounds + layer.running - 1
            self.round(layer, seed)

    def round(self, layer, seed):
        command = layer.command(seed)
        start = time.monotonic()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        self.groups.add(process.pid)
        output = process.stdout.read().decode(errors="replace")
        _, status, usage = os.wait4(process.pid, 0)
        self.groups.discard(process.pid)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - start
        lines = LINE.findall(output)
        with self.lock:
            layer.running -= 1
            if self.stopped:
                return
            layer.rounds += 1
            layer.seconds += seconds
            layer.cpu += usage.ru_utime + usage.ru_stime
            if layer.unit == "CPU seconds":
                layer.done += usage.ru_utime + usage.ru_stime
            else:
                layer.done += sum(number(line, "states") + number(line, "images") for line in lines)
            skipped = [line for line in lines if " skipped=" in line]
            layer.remarks += [line for line in skipped if line not in layer.remarks]
            if process.returncode != 0 or not lines:
                layer.violations += max(1, sum(number(line, "violations") + number(line, "crashes") for line in lines))
                kept = self.output / f"{layer.name.replace(' ', '-')}-{seed}.txt"
                kept.write_text(f"{' '.join(command)}\nexit code {process.returncode}\n{output}")
                layer.remarks.append(f"round with seed {seed}: exit code {process.returncode}, its output is in {kept.name}")
            with open(self.output / "lines.txt", "a", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in lines)

    def report(self, is_last=False):
        with self.lock:
            rows = [
                (layer.name, f"{layer.done:,.0f} {layer.unit}", f"{layer.goal * self.arguments.hours:,.0f}", layer.rounds, layer.violations,
                 f"{layer.seconds / 60:.0f}", f"{layer.cpu / 60:.0f}")
                for layer in self.layers
            ]
            remarks = [f"- {layer.name}: {remark}" for layer in self.layers for remark in layer.remarks]
            violations = sum(layer.violations for layer in self.layers)
        hours = (time.monotonic() - self.start) / 3600
        state = "" if is_last and not self.stopped else f"**Partial: {'stopped' if self.stopped else 'still running'}.** "
        text = [
            "# Campaign", "",
            f"{state}{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC; {hours:.2f} of {self.arguments.hours:g} hours; "
            f"{self.arguments.lanes} lanes; seed {self.arguments.seed}; {os.cpu_count()} processors, {platform.system()} {platform.release()}; "
            f"{violations} violations.", "",
            "| layer | done | goal | rounds | violations | minutes | CPU minutes |", "|---|---|---|---|---|---|---|",
            *(f"| {' | '.join(str(value) for value in row)} |" for row in rows), "",
            *([*remarks, ""] if remarks else []),
        ]
        (self.output / "report.md").write_text("\n".join(text))
        if is_last:
            print("\n".join(text))
            print(f"layer=campaign hours={hours:.2f} rounds={sum(layer.rounds for layer in self.layers)} violations={violations} "
                  f"partial={int(self.stopped)}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hours", type=float)
    parser.add_argument("output")
    parser.add_argument("tidemark")
    parser.add_argument("simulate")
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--lanes", type=int, default=os.cpu_count() or 2)
    campaign = Campaign(parser.parse_args())
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, lambda *_: campaign.stop())
    return campaign.run()


if __name__ == "__main__":
    sys.exit(main())
