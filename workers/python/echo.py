"""The worker of the demo and the tests: it does what the job's input says.

echo: any        the output (default: the input itself)
delayMs: n       waits first, until a cancellation
logLines: n      prints `line 1` ... `line n`
progress: [..]   sends each item as a progress update
stream: n        streams n chunks {index, echo}, delayMs apart
bytes: n         returns {data} with n characters
trace: true      returns {traceparent}, the job's trace context, or null
env: NAME        returns {env}, the value of that variable, or null
refresh: true    requests a fresh worker after this job
throw: text      fails with that message
exit: code       exits at once with that code
crash: true      aborts the process
hang: true       never ends and ignores cancellation
slept: true      returns {slept, woke}: how often

The environment variable ECHO_CONCURRENCY sets how many jobs run at once (default 1). ECHO_SLEEP=works lets the worker
sleep; with ECHO_SLEEP=sleepless falling asleep fails, with ECHO_SLEEP=forever waking up does.
"""

import os
import time

from podyard_worker import start


counts = {"slept": 0, "woke": 0}


def handler(job):
    given = job["input"] or {}
    for i in range(1, given.get("logLines", 0) + 1):
        print(f"line {i}", flush=True)
    return chunks(job, given) if "stream" in given else answer(job, given)


def answer(job, given):
    for item in given.get("progress", []):
        job.progress(item)
    job.cancelled.wait(given.get("delayMs", 0) / 1000)
    misbehave(given)
    while given.get("hang"):
        time.sleep(3600)
    if given.get("slept"):
        return dict(counts)
    if given.get("trace"):
        return {"traceparent": job.get("traceparent")}
    if given.get("refresh"):
        return {"echo": given.get("echo"), "refresh_worker": True}
    return output_of(given)


def chunks(job, given):
    for index in range(given["stream"]):
        job.cancelled.wait(given.get("delayMs", 0) / 1000)
        yield {"index": index, "echo": given.get("echo")}
    misbehave(given)


def output_of(given):
    if "bytes" in given:
        return {"data": "x" * given["bytes"]}
    if "env" in given:
        return {"env": os.environ.get(given["env"])}
    return given.get("echo", given)


def misbehave(given):
    if "throw" in given:
        raise RuntimeError(given["throw"])
    if "exit" in given:
        os._exit(given["exit"])
    if given.get("crash"):
        os.abort()


def on_sleep():
    if os.environ["ECHO_SLEEP"] == "sleepless":
        raise RuntimeError("it cannot sleep")
    counts["slept"] += 1


def on_wake():
    if os.environ["ECHO_SLEEP"] == "forever":
        raise RuntimeError("it cannot wake")
    counts["woke"] += 1


sleeper = {"on_sleep": on_sleep, "on_wake": on_wake} if "ECHO_SLEEP" in os.environ else {}
start(handler, concurrency=int(os.environ.get("ECHO_CONCURRENCY", "1")), **sleeper)
