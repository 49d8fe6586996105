"""A worker kit in one file, standard library only: takes jobs from a queue endpoint, runs your handler, sends back its value.

    from podyard_worker import start
    start(lambda job: {"echo": job["input"]}, concurrency=2)

The handler is a function (its value is the output) or a generator (each value is streamed), sync or async; each job runs
in its own thread. It gets a dict with `id` and `input`. `job.progress(value)` sends an update, and `job.cancelled` is a
threading.Event that is set when the job is cancelled. What it raises becomes the error.
A job that belongs to a trace also has `traceparent`, and possibly `tracestate` (W3C Trace Context): pass them on.
`on_sleep` and `on_wake` (optional, both or neither): give back the GPU's memory, and take it again. The kit calls them while no
job runs, before the worker is frozen and after it is thawed; another worker uses the GPU in between.
Without an endpoint, `python worker.py --test_input '{"input": ...}'` runs one job and prints its result.

The kit speaks the protocol of the public worker SDKs and reads the same variables:
  RUNPOD_WEBHOOK_GET_JOB, RUNPOD_WEBHOOK_POST_OUTPUT, RUNPOD_WEBHOOK_POST_STREAM, RUNPOD_WEBHOOK_PING: URLs
  RUNPOD_AI_API_KEY: sent as `Authorization`;  RUNPOD_POD_ID: this worker's id;  RUNPOD_PING_INTERVAL: in ms
  PODYARD_SLEEP: set where workers can sleep
On SIGTERM it takes no more jobs, finishes the running ones and exits with 0.

It logs one JSON object a line: `requestId` (the job), `message`, `level`, and `traceback` of an exception, also of one that ends
the program. What the handler prints goes out as it is.
"""

from __future__ import annotations

# What only some workers need is imported where it is used: a first job waits for all of these.
import http.client
import json
import os
import signal
import socket
import sys
import threading
import time
import types
import urllib.parse
from collections.abc import Callable

VERSION = "podyard-python/1"
TAKE_TIMEOUT_S = 90
CUT_OFF_AFTER_S = 2
# How long a result is retried while the server cannot be reached: a restart of the server loses no result.
RESULT_DEADLINE_S = 5 * 60
# How much earlier than its job a cancellation may arrive: they use different connections.
OVERTAKING_S = 1
# Servers keep this much of a line, in characters; a longer one would be no JSON any more.
MAX_LINE = 16_000
MAX_MESSAGE = 4_000

WORKER_ID = os.environ.get("RUNPOD_POD_ID") or os.urandom(16).hex()


def start(
    handler: Callable[[Job], object],
    concurrency: int = 1,
    on_sleep: Callable[[], object] | None = None,
    on_wake: Callable[[], object] | None = None,
) -> None:
    """Runs until SIGTERM or SIGINT and until the last job has ended; then exits the process with 0.

    Raises TypeError when an argument is invalid. Without an endpoint it runs the job of `--test_input`, and exits with 1 when
    that fails.
    """
    if not callable(handler):
        raise TypeError("handler must be a function")
    if not isinstance(concurrency, int) or concurrency < 1:
        raise TypeError("concurrency must be a positive integer")
    if (on_sleep is None) != (on_wake is None):
        raise TypeError("on_sleep and on_wake belong together")
    if not os.environ.get("RUNPOD_WEBHOOK_GET_JOB"):
        sys.exit(run_by_hand(handler))
    worker = Worker(handler, concurrency, on_sleep, on_wake)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: worker.drain())
    log("INFO", f"worker {WORKER_ID} started, concurrency {concurrency}")
    worker.run()
    log("INFO", "worker stopped")
    sys.stdout.flush()
    os._exit(0)  # threads in a poll or in a hanging handler must not keep the process alive


def run_by_hand(handler):
    if "--test_input" not in sys.argv:
        return (
            "RUNPOD_WEBHOOK_GET_JOB is not set: workers are started by an endpoint. To test the handler, add "
            "--test_input '{\"input\": ...}'."
        )

    def show(value):
        print(json.dumps(value), flush=True)

    job = Job({"id": "test", **json.loads(sys.argv[sys.argv.index("--test_input") + 1])})
    job.progress = lambda value: show({"progress": value})
    body, is_stream = call_handler(handler, job, lambda chunk: show({"stream": chunk}))
    if not is_stream or "error" in body:
        show(body)
    return 1 if "error" in body else 0


class Job(dict):
    """The argument of a handler: `job["id"]`, `job["input"]`; `cancelled` is set when the result is no longer wanted."""

    def __init__(self, job):
        super().__init__(job)
        self.cancelled = threading.Event()

    def progress(self, value):
        """Shows `value` as the job's output while it runs."""
        post("OUTPUT", self["id"], {"status": "IN_PROGRESS", "output": value}, False)


class Worker:
    def __init__(self, handler, concurrency, on_sleep, on_wake):
        self.handler = handler
        self.concurrency = concurrency
        self.on_sleep = on_sleep
        self.on_wake = on_wake
        self.can_sleep = on_sleep is not None and "PODYARD_SLEEP" in os.environ
        self.is_asleep = False
        self.running = {}  # job id -> Job, as named in pings
        self.cancelled_early = {}  # job id -> when
        self.busy = 0
        self.changed = threading.Condition()
        self.draining = threading.Event()
        self.told_to_end = os.pipe()
        self.take_poll = Poll(get_job_url())

    def drain(self):
        """Called by the signal handler in the main thread, which may hold any lock, also that of an Event: takes none."""
        os.write(self.told_to_end[1], b".")

    def run(self):
        taking, *_ = threads = [
            threading.Thread(target=loop, daemon=True) for loop in (self.take_loop, self.ping_loop, self.stop_loop)
        ]
        for thread in threads:
            thread.start()
        os.read(self.told_to_end[0], 1)
        self.draining.set()
        self.take_poll.abort()
        taking.join(CUT_OFF_AFTER_S)  # a job that has just arrived is run
        while self.busy > 0:
            time.sleep(0.02)

    def take_loop(self):
        while not self.draining.is_set():
            with self.changed:
                while self.busy >= self.concurrency:
                    self.changed.wait()
                free = self.concurrency - self.busy
            for job in self.take(free):
                with self.changed:
                    if time.monotonic() - self.cancelled_early.pop(job["id"], -OVERTAKING_S) < OVERTAKING_S:
                        continue
                    self.busy += 1
                    self.running[job["id"]] = job
                threading.Thread(target=self.run_job, args=(job,), daemon=True).start()

    def take(self, free):
        path = "/job-take/"
        query = f"&job_in_progress={1 if self.running else 0}"
        if free > 1:
            path, query = "/job-take-batch/", f"&batch_size={free}{query}"
        if self.on_sleep is not None:
            query += f"&can_sleep={1 if self.can_sleep else 0}{'&asleep=1' if self.is_asleep else ''}"
        asked_at = time.monotonic()
        try:
            status, body = self.take_poll.get(path, query)
        except (OSError, http.client.HTTPException):
            # A server that is down fails at once. A request that fails late was cut off, by a restart or because this
            # worker was frozen: a job may already be waiting.
            if time.monotonic() - asked_at < CUT_OFF_AFTER_S:
                self.draining.wait(0.5)
            return []
        if status == 200:
            jobs = json.loads(body)
            return [Job(job) for job in (jobs if isinstance(jobs, list) else [jobs])]
        if self.take_poll.headers.get("Podyard-Sleep") and not self.busy and not self.is_asleep:
            self.go_to_sleep()
        elif self.take_poll.headers.get("Podyard-Wake") and self.is_asleep:
            self.wake_up()
        if status not in (204, 400):
            self.draining.wait(5 if status == 429 else 1)
        return []

    def go_to_sleep(self):
        try:
            self.on_sleep()
            self.is_asleep = True
        except Exception:  # whatever the handler raises
            self.can_sleep = False
            log_exception(before="on_sleep failed, so this worker keeps its GPU: ")

    def wake_up(self):
        """A worker that cannot wake ends, and is replaced."""
        try:
            self.on_wake()
            self.is_asleep = False
        except Exception:
            log_exception(before="on_wake failed: ")
            os._exit(1)

    def run_job(self, job):
        try:
            body, is_stream = call_handler(
                self.handler, job, lambda chunk: post("STREAM", job["id"], {"output": chunk}, False)
            )
            if not job.cancelled.is_set():  # a cancelled job has no result
                post("OUTPUT", job["id"], body, is_stream)
        finally:
            with self.changed:
                self.running.pop(job["id"], None)
                self.busy -= 1
                self.changed.notify_all()

    def ping_loop(self):
        url = os.environ.get("RUNPOD_WEBHOOK_PING")
        if not url or not os.environ.get("RUNPOD_AI_API_KEY") or not os.environ.get("RUNPOD_POD_ID"):
            return
        interval_s = int(os.environ.get("RUNPOD_PING_INTERVAL") or 10_000) / 1000
        poll = Poll(url.replace("$RUNPOD_POD_ID", WORKER_ID).replace("$ID", WORKER_ID), timeout_s=2 * interval_s)
        while True:
            jobs = ",".join(list(self.running))
            try:
                poll.get(None, (f"&job_id={jobs}" if jobs else "") + f"&runpod_version={VERSION}")
            except (OSError, http.client.HTTPException):
                pass  # the next ping says the same
            time.sleep(interval_s)

    def stop_loop(self):
        poll = Poll(get_job_url())
        while True:
            wait_s = 1
            try:
                status, body = poll.get("/job-stop/", "")
                if status == 200:
                    for job_id in json.loads(body).get("jobsToStop") or []:
                        self.cancel(job_id)
                    wait_s = 0
                elif status == 429:
                    wait_s = 5
            except (OSError, http.client.HTTPException, ValueError):
                pass  # retried after the pause
            time.sleep(wait_s)

    def cancel(self, job_id):
        with self.changed:
            job = self.running.get(job_id)
            if job is None:
                self.cancelled_early = {job_id: time.monotonic()}
        if job is not None and not job.cancelled.is_set():  # the order is repeated until the handler has ended
            log("INFO", "cancelled", job_id)
            job.cancelled.set()


class Poll:
    """GETs one URL repeatedly over a kept connection. `abort`, from another thread, ends this side of it alone: an answer
    that has been sent still arrives, and the server closes a request that it has not answered."""

    def __init__(self, url, timeout_s=TAKE_TIMEOUT_S):
        self.url = url
        self.timeout_s = timeout_s
        self.connection = None
        self.headers = {}  # of the last answer

    def get(self, path, query):
        if self.connection is None:
            self.connection = connect(self.url, self.timeout_s)
        target = target_of(self.url) + query
        try:
            self.connection.request("GET", target.replace("/job-take/", path, 1) if path else target, headers=headers())
            answer = self.connection.getresponse()
            self.headers = answer.headers
            return answer.status, answer.read()
        except BaseException:
            self.connection.close()
            self.connection = None
            raise

    def abort(self):
        sock = self.connection and self.connection.sock
        if sock:
            try:
                sock.shutdown(socket.SHUT_WR)
            except OSError:
                pass


def call_handler(handler, job, send_chunk):
    """Returns the body of the result, and whether it was a stream."""
    is_stream = False
    try:
        result = handler(job)
        if isinstance(result, types.CoroutineType):
            import asyncio

            result = asyncio.run(result)
        if isinstance(result, types.AsyncGeneratorType):
            result = iterate(result)
        is_stream = isinstance(result, types.GeneratorType)
        if not is_stream:
            return result_body(result), is_stream
        for chunk in result:
            if job.cancelled.is_set():
                break
            if isinstance(chunk, dict) and "error" in chunk:
                return {"error": text(chunk["error"])}, is_stream
            send_chunk(chunk)
        return {"output": []}, is_stream
    except Exception as error:  # whatever the handler raises is the job's error
        log_exception(job["id"])
        return {"error": error_text(error)}, is_stream


def iterate(chunks):
    """Yields the values of an async generator, run in its own event loop."""
    import asyncio

    loop = asyncio.new_event_loop()
    try:
        while True:
            try:
                yield loop.run_until_complete(chunks.__anext__())
            except StopAsyncIteration:
                return
    finally:
        loop.run_until_complete(chunks.aclose())
        loop.close()


def result_body(result):
    """Takes `error` and `refresh_worker` out of what a handler returns; the rest is the output."""
    if not isinstance(result, dict):
        return {"output": result}
    output = dict(result)
    refresh = output.pop("refresh_worker", False)
    body = {"error": text(output["error"])} if "error" in output else {"output": output}
    if refresh:
        body["stopPod"] = True
    return body


def format_error(info=None):
    """Returns an exception, by default the one that is being handled, with its traceback from the handler on."""
    import traceback

    kind, error, trace = info or sys.exc_info()
    while trace and trace.tb_next and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return "".join(traceback.format_exception(kind, error, trace))


def error_text(error):
    return json.dumps(
        {
            "error_type": type(error).__name__,
            "error_message": str(error),
            "error_traceback": format_error(),
            "hostname": os.environ.get("RUNPOD_POD_HOSTNAME", "unknown"),
            "worker_id": WORKER_ID,
            "runpod_version": VERSION,
        }
    )


def post(kind, job_id, body, is_stream):
    """Sends a result or a chunk. Retries while the server is down or answers 5xx; any other answer is final."""
    url = os.environ[f"RUNPOD_WEBHOOK_POST_{kind}"].replace("$RUNPOD_POD_ID", WORKER_ID).replace("$ID", job_id)
    url += f"&isStream={'true' if is_stream else 'false'}"
    deadline = time.monotonic() + RESULT_DEADLINE_S
    wait_s = 0.2
    while True:
        status = post_once(url, job_id, json.dumps(body).encode())
        if status is not None and status < 500:
            if status >= 400:
                log("ERROR", f"refused by the server ({status}); not sent again", job_id)
            return
        if time.monotonic() + wait_s > deadline:
            return log("ERROR", f"gave up sending to the server ({status or 'no answer'})", job_id)
        time.sleep(wait_s)
        wait_s = min(wait_s * 2, 5)


_kept = threading.local()  # one connection per thread, shared by the chunks of a stream


def post_once(url, job_id, body):
    # JSON nevertheless: the SDKs send it with this content type
    kind = {"Content-Type": "application/x-www-form-urlencoded", "charset": "utf-8", "X-Request-ID": job_id}
    try:
        if getattr(_kept, "connection", None) is None:
            _kept.connection = connect(url, 30)
        is_sent = send_request(_kept.connection, target_of(url), body, {**headers(), **kind})
        answer = _kept.connection.getresponse()
        answer.read()
        if not is_sent:
            _kept.connection.close()
            _kept.connection = None
        return answer.status
    except (OSError, http.client.HTTPException):
        if getattr(_kept, "connection", None) is not None:
            _kept.connection.close()
        _kept.connection = None
        return None


def send_request(connection, target, body, all_headers):
    """False when the connection broke before everything was sent: the server may have answered already, with a refusal."""
    try:
        connection.request("POST", target, body=body, headers=all_headers)
        return True
    except OSError:
        if connection.sock is None:
            raise  # it was never open
        return False


def connect(url, timeout_s):
    parts = urllib.parse.urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return kind(parts.hostname, parts.port, timeout=timeout_s)


def target_of(url):
    parts = urllib.parse.urlsplit(url)
    return f"{parts.path}?{parts.query}"


def get_job_url():
    return os.environ["RUNPOD_WEBHOOK_GET_JOB"].replace("$ID", WORKER_ID)


def headers():
    return {"Authorization": os.environ.get("RUNPOD_AI_API_KEY", ""), "User-Agent": VERSION}


def text(value):
    return value if isinstance(value, str) else json.dumps(value, default=str)


def log(level, message, request_id=None, trace=""):
    if not os.environ.get("RUNPOD_ENDPOINT_ID"):
        return print(f"{level:5} {request_id or ''} {message}\n{trace}".rstrip(), flush=True)
    record = {"requestId": request_id, "message": bounded(message, MAX_MESSAGE), "level": level}
    if trace:
        record["traceback"] = bounded(trace, MAX_LINE - len(json.dumps(record)) - 20)
    sys.stdout.write(json.dumps(record) + "\n")  # in one piece: other threads print, too
    sys.stdout.flush()


def log_exception(request_id=None, before="", info=None):
    """Logs an exception, by default the one that is being handled."""
    import traceback

    info = info or sys.exc_info()
    names = traceback.format_exception_only(*info[:2])
    name = next((line for line in names if not line.startswith(" ")), names[-1])  # before: lines of a file; behind: notes
    log("ERROR", before + name.strip(), request_id, format_error(info).rstrip())


def bounded(whole, room):
    """Returns a text, or its beginning and its end, so that it takes at most `room` characters of JSON."""
    half = room // 2
    while True:
        left = len(whole) - 2 * half
        cut = whole if left <= 0 else f"{whole[:half]} \u2026 {left} characters \u2026 {whole[len(whole) - half:]}"
        if len(json.dumps(cut)) <= room:
            return cut
        half = half * 2 // 3


def on_uncaught(kind, error, trace):
    """Logs an exception that nothing caught in one line. The program ends as it would without the kit."""
    if issubclass(kind, KeyboardInterrupt):
        return sys.__excepthook__(kind, error, trace)
    log_exception(info=(kind, error, trace))


def on_uncaught_in_thread(args):
    if not issubclass(args.exc_type, SystemExit):
        on_uncaught(args.exc_type, args.exc_value, args.exc_traceback)


# From here on: a worker whose model or package is missing never comes as far as `start`. Hooks of others stay.
if os.environ.get("RUNPOD_ENDPOINT_ID"):
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = on_uncaught
    if threading.excepthook is getattr(threading, "__excepthook__", threading.excepthook):  # unknown to 3.9
        threading.excepthook = on_uncaught_in_thread
